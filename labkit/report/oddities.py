"""Show odd results in the report: their number on the first page, each in its chapter, all in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from nbformat.v4 import new_markdown_cell

from labkit import studies
from labkit.errors import LabkitError
from labkit.io import csv_export
from labkit.judge import sentences
from labkit.judge.finding import HOW, Evidence, Finding
from labkit.point.notes import joined
from labkit.report import judged, markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import Chapter

LABEL = "tbl-odd"  # of the table
FILE = "odd-results.csv"  # all of them, for download
_NAMED = 2  # that a chapter names; more of different kinds
_KINDS = 3  # of them, at most


def count(content: Content) -> str:
    """Return the numbers of odd, unexplained and undecided results, and their place; empty without any."""
    listed = markdown.needing("sec-odd", "@sec-odd counts them; chapters have values and possible reasons.")
    return f"**Odd results:** {words} {listed}" if (words := counted(content)) else ""


def counted(content: Content) -> str:
    """Return the numbers of odd, unexplained and undecided results of each campaign; empty without any."""
    name = {source: f"{escape(source.name)}: " if content.several else "" for source in content.sources}
    found = ((source, sentences.odd(source.odd)) for source in content.sources)
    return " ".join(f"{name[source]}{words}" for source, words in found if words)


def listed(content: Content) -> str:
    """Return the table of the odd results: a row for each rule, with the first place."""
    found = [(source, source.odd) for source in content.sources]
    if not any(odd for _, odd in found):
        return "No result contradicts what is expected."
    caption = f"Results that contradict what is expected. {{#{LABEL}}}"
    table, notes = judged.table(found, caption, several=content.several), judged.notes(found)
    file = f"[data/{FILE}](data/{FILE}) has each result with its values."
    return "\n\n".join(filter(None, [table, f"{notes} {file}".strip()]))


def as_csv(content: Content) -> str:
    """Return all odd results with their values as CSV; empty without any."""
    return csv_export.of_rows(
        {
            "campaign": source.name,
            "benchmark": one.subject.benchmark,
            "setting": one.subject.setting,
            "rule": one.code,
            "what contradicts": sentences.sentence(one),
            "decided": HOW[one.decided.how],
            "possible reasons": _reasons(one),
            "to decide it": one.command,
        }
        for source in content.sources
        for one in source.odd
    )


def _reasons(one: Finding) -> str:
    """Return the causes that the data speak for."""
    return joined(sentences.sentence(cause) for cause in one.causes if cause.likely) or "unexplained"


def comment(content: Content) -> None:
    """Add the odd results to chapters: each to the chapter of its benchmark with the fewest other benchmarks."""
    for source in content.sources:
        chapters = [one for one in content.chapters.values() if one.path in source.notebooks]
        found: dict[int, list[Finding]] = {}
        for odd in source.odd:
            if own := [one for one in chapters if odd.subject.benchmark in _benchmarks(one)]:
                narrow = min(own, key=lambda one: len(_benchmarks(one)))
                found.setdefault(chapters.index(narrow), []).append(odd)
        for number, its in found.items():
            chapters[number].notebook.cells.append(_cell(its))


@lru_cache(256)  # odd results ask for the same
def _of_notebook(name: str) -> frozenset[str]:
    try:
        return frozenset(studies.of_notebook(name).benchmarks)
    except LabkitError:
        return frozenset()


def _benchmarks(chapter: Chapter) -> frozenset[str]:
    """Return the benchmarks of a chapter's study; none if its notebook has no study."""
    return _of_notebook(chapter.path.name)


def _cell(odd: Sequence[Finding]) -> Any:
    """Return a section with a sentence for each odd result."""
    surest: dict[str, Finding] = {}
    for one in odd:
        surest.setdefault(one.code, one)
    kinds = [*surest.values()][:_KINDS]
    chosen = kinds + [one for one in odd if one not in kinds][: max(0, _NAMED - len(kinds))]
    lines = [escape(_told(one)) for one in odd if one in chosen]
    more = len(odd) - len(chosen)
    rest = f"\n\n{markdown.needing(LABEL, f'@{LABEL} counts {more} more of these benchmarks.')}" if more > 0 else ""
    cell = new_markdown_cell(f"## Odd results {{.unnumbered}}\n\n{markdown.bullets(lines)}{rest}")
    cell["id"] = "odd"
    return cell


def _told(one: Finding) -> str:
    """Return an odd result in words, with its evidence, how sure it is, and its possible reasons."""
    clues = joined(sentences.clue(one, _to_the_minute(each)) for each in one.evidence)
    clues = f" {clues[:1].upper()}{clues[1:]}." if clues else ""
    decided = "" if one.certain else f" {HOW[one.decided.how].capitalize()}."
    return f"{judged.place(one)}: {sentences.sentence(one)}.{clues}{decided} Possible reason: {_reasons(one)}."


def _to_the_minute(evidence: Evidence) -> Evidence:
    """Return evidence with moments without seconds, which nobody needs in a text."""
    return replace(evidence, values={name: _minute(value) for name, value in evidence.values.items()})


def _minute(value: Any) -> Any:
    """Return a moment in ISO 8601 as people write it, and any other value as it is.

    Examples
    --------
    >>> _minute("2026-11-26T09:07:31.509+00:00"), _minute("2026-11-26T09:07:31+01:00"), _minute("busy")
    ('2026-11-26 09:07 UTC', '2026-11-26 09:07+01:00', 'busy')
    """
    if not isinstance(value, str) or "T" not in value:
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return moment.isoformat(sep=" ", timespec="minutes").replace("+00:00", " UTC")


BLOCKS = {"odd-count": count, "odd": listed}
