"""Hold what the generated blocks of the report are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.report import markdown
from labkit.report.figures import Picture
from labkit.report.literature import Experiment
from labkit.report.notebook import Chapter
from labkit.report.sources import Source

if TYPE_CHECKING:
    from labkit.judge.gate import Result


@dataclass(frozen=True)
class Beside:
    """A figure of one experiment.

    Parameters
    ----------
    paper : its key in the bibliography.
    experiment : that is repeated.
    picture : the figure.
    """

    paper: str
    experiment: Experiment
    picture: Picture


@dataclass(frozen=True)
class Content:
    """Campaigns and their chapters.

    Parameters
    ----------
    sources : the campaigns.
    chapters : staged file → notebook made ready, in reading order.
    omitted : chapters of which the campaign holds nothing, and which are therefore left out.
    front : picture on the first page; None where there is none.
    absent : headings of sections that no campaign has data for; complete when the last part is made.
    style : of the report.
    contract : file of an acceptance contract; None where the style needs none.
    gate : verdicts of the gate on the campaign, for the first page; None where none judged it.
    log : file of its tests, as `labkit gate --log` writes it; None where none is shown.
    allow : factors that may differ between the campaigns that are compared.
    made : what parts share, by name; each is worked out once.
    beside : figures of measured curves beside the published values of experiments.
    pictures : those that parts show, by name.
    terms : term of the glossary → name of its row, where the report has the glossary.
    whole : `chapters` before the style left some out; empty where it left out none.
    """

    sources: Sequence[Source]
    chapters: dict[str, Chapter]
    omitted: Sequence[Chapter] = ()
    front: Picture | None = None
    absent: list[str] = field(default_factory=list)
    style: str = "report"
    contract: Path | None = None
    gate: Result | None = None
    log: Path | None = None
    allow: Sequence[str] = ()
    made: dict[str, Any] = field(default_factory=dict)
    beside: list[Beside] = field(default_factory=list)
    pictures: dict[str, Picture] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    whole: Mapping[str, Chapter] = field(default_factory=dict)

    @property
    def every(self) -> Mapping[str, Chapter]:
        """All chapters, with those that the style left out."""
        return self.whole or self.chapters

    @property
    def several(self) -> bool:
        """Whether tables must say which campaign a row is from."""
        return len(self.sources) > 1

    def show(self, picture: Picture) -> str:
        """Return a picture as Markdown, and keep it for the pages."""
        self.pictures[picture.name] = picture
        return picture.shown

    def add(self, figures: Sequence[Beside], svgs: Sequence[str | None]) -> None:
        """Take the figures of experiments that could be drawn."""
        for one, svg in zip(figures, svgs, strict=True):
            if svg:
                self.beside.append(replace(one, picture=replace(one.picture, svg=svg)))

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
