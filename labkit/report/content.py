"""Hold what the generated blocks of the report are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.report import markdown
from labkit.report.figures import captioned
from labkit.report.literature import Experiment
from labkit.report.notebook import Chapter
from labkit.report.sources import Source


@dataclass(frozen=True)
class Beside:
    """A figure of one experiment.

    Parameters
    ----------
    paper : its key in the bibliography.
    experiment : that is repeated.
    number : of the figure in its section, from 1.
    caption : as Markdown.
    spec : plotly's plain data.
    """

    paper: str
    experiment: Experiment
    number: int
    caption: str
    spec: dict[str, Any]

    @property
    def file(self) -> str:
        """Name of its picture below ``figures/``."""
        return f"paper-{self.paper}-{self.number}.svg"

    @property
    def shown(self) -> str:
        """The figure as Markdown."""
        return captioned(self.caption, f"figures/{self.file}", f"fig-paper-{self.paper}-{self.number}", self.spec)


@dataclass(frozen=True)
class Content:
    """Campaigns and their chapters.

    Parameters
    ----------
    sources : the campaigns.
    chapters : staged file → notebook made ready, in reading order.
    omitted : chapters of which the campaign holds nothing, and which are therefore left out.
    front : picture on the first page, with its caption; empty where there is none.
    absent : headings of sections that no campaign has data for; complete when the last part is made.
    style : of the report.
    contract : file of an acceptance contract; None where the style needs none.
    log : file of its tests, as `labkit gate --log` writes it; None where none is shown.
    allow : factors that may differ between the campaigns that are compared.
    made : what parts share, by name; each is worked out once.
    beside : figures of measured curves beside the published values of experiments.
    pictures : name of a file below ``figures/`` → svg; parts add those that they refer to.
    """

    sources: Sequence[Source]
    chapters: dict[str, Chapter]
    omitted: Sequence[Chapter] = ()
    front: str = ""
    absent: list[str] = field(default_factory=list)
    style: str = "report"
    contract: Path | None = None
    log: Path | None = None
    allow: Sequence[str] = ()
    made: dict[str, Any] = field(default_factory=dict)
    beside: list[Beside] = field(default_factory=list)
    pictures: dict[str, str] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether tables must say which campaign a row is from."""
        return len(self.sources) > 1

    def add(self, figures: Sequence[Beside], svgs: Sequence[str | None]) -> None:
        """Take the figures of experiments that could be drawn."""
        for one, svg in zip(figures, svgs, strict=True):
            if svg:
                self.beside.append(one)
                self.pictures[one.file] = svg

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[tuple[Source | None, Sequence[str]]],
        *,
        align: str = "",
        caption: str,
        empty: str,
    ) -> str:
        """Return a table over all campaigns, with a column for their names where there are several.

        Parameters
        ----------
        head, align, caption : as `labkit.io.markdown.table` takes them, without the campaign.
        rows : with the campaign each belongs to; None for all.
        empty : sentence for no rows at all.
        """
        if not rows:
            return empty
        cells, align = [list(row) for _, row in rows], align or "l" * len(head)
        if self.several and any(source for source, _ in rows):
            cells = [[markdown.escape(source.name) if source else "all", *row] for source, row in rows]
            head, align = ["campaign", *head], "l" + align
        return markdown.differing(head, cells, align=align, caption=caption)
