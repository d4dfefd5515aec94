"""Data for the generated blocks of the report."""

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
    experiment : experiment that is repeated.
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
    omitted : chapters left out because the campaign has no data for them.
    front : picture on the first page; None without one.
    absent : headings of sections without data; complete after the last block.
    style : style of the report.
    contract : file of an acceptance contract; None if the style needs none.
    gate : verdicts of the gate on the campaign, for the first page; None without a gate.
    log : file of its tests, as `labkit gate --log` writes it; None if it is not shown.
    allow : factors that may differ between compared campaigns.
    made : results shared by several blocks, by name.
    beside : figures of measured curves beside the published values of experiments.
    pictures : pictures of blocks, by name.
    terms : term of the glossary → name of its row, if the report has the glossary.
    whole : `chapters` before the style left some out; empty if it left out none.
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
        """All chapters, including those that the style left out."""
        return self.whole or self.chapters

    @property
    def several(self) -> bool:
        """Whether tables need a column with the campaign."""
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
        """Return a table over all campaigns, with a column for their names if there are several.

        Parameters
        ----------
        head, align, caption : as `labkit.io.markdown.table` takes them, without the campaign.
        rows : each with its campaign; None for all.
        empty : sentence for no rows at all.
        """
        if not rows:
            return empty
        cells, align = [list(row) for _, row in rows], align or "l" * len(head)
        if self.several and any(source for source, _ in rows):
            cells = [[markdown.escape(source.name) if source else "all", *row] for source, row in rows]
            head, align = ["campaign", *head], "l" + align
        return markdown.differing(head, cells, align=align, caption=caption)
