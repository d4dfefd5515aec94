"""Name odd results in the report: their count on the first page, those of a chapter in it, all in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nbformat.v4 import new_markdown_cell

from labkit import studies
from labkit.analysis import plausibility
from labkit.analysis.plausibility import Oddity
from labkit.errors import LabkitError
from labkit.notes import joined
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import Chapter
from labkit.report.sources import Source
from labkit.report.variables import title

LABEL = "tbl-odd"  # of the table
_NAMED = 2  # that a chapter names; the table has all
_REASONS = 2  # that a row names


def count(content: Content) -> str:
    """Return how many results are odd, unexplained and undecided; empty where none is."""
    parts = []
    for source in content.sources:
        if words := plausibility.counts(source.evidence.odd):
            parts.append(f"{escape(source.name)}: {words}" if content.several else words)
    return f"**Odd results:** {' '.join(parts)} @sec-odd lists them with their values and possible reasons." * bool(
        parts
    )


def listed(content: Content) -> str:
    """Return the table of all odd results."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        for one in source.evidence.odd:
            place = ", ".join(filter(None, (title(one.benchmark), one.setting)))
            reasons = joined(map(str, one.explanations[:_REASONS])) or "unexplained"
            found = f"{one.what}: {plausibility.numbers(one)}"
            rows.append((source, [escape(place), escape(found), one.confidence, escape(reasons)]))
    return content.table(
        ["where", "what contradicts", "confidence", "possible reason, with evidence"],
        rows,
        caption=f"Results that contradict what must be expected. {{#{LABEL}}}",
        empty="No result contradicts what must be expected.",
    )


def comment(content: Content) -> None:
    """Add to each chapter the odd results of its benchmarks."""
    for chapter in content.chapters.values():
        source = next((one for one in content.sources if chapter.path in one.notebooks), None)
        odd = _of_chapter(chapter, source) if source else []
        if odd:
            chapter.notebook.cells.append(_cell(odd))


def _of_chapter(chapter: Chapter, source: Source) -> Sequence[Oddity]:
    """Return the odd results of the benchmarks of a chapter's study."""
    try:
        names = studies.of_notebook(chapter.path.name).benchmarks
    except LabkitError:
        return []
    return [one for one in source.evidence.odd if one.benchmark in names]


def _cell(odd: Sequence[Oddity]) -> Any:
    """Return a section with a sentence for each odd result."""
    lines = [escape(plausibility.sentence(replace(one, benchmark=_named(one)))) for one in odd[:_NAMED]]
    more = len(odd) - _NAMED
    rest = f"\n\n@{LABEL} has {more} more of these benchmarks." if more > 0 else ""
    cell = new_markdown_cell(f"## Odd results {{.unnumbered}}\n\n{markdown.bullets(lines)}{rest}")
    cell["id"] = "odd"
    return cell


def _named(one: Oddity) -> str:
    name = title(one.benchmark)
    return name[:1].upper() + name[1:]


BLOCKS = {"odd-count": count, "odd": listed}
