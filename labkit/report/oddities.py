"""Name odd results in the report: their count on the first page, those of a chapter in it, all in a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from nbformat.v4 import new_markdown_cell

from labkit import studies
from labkit.errors import LabkitError
from labkit.io import csv_export
from labkit.judge import plausibility
from labkit.judge.plausibility import Oddity
from labkit.point.notes import joined
from labkit.point.units import format_range, plural
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import Chapter
from labkit.report.variables import title

LABEL = "tbl-odd"  # of the table
FILE = "odd-results.csv"  # all of them, for download
_NAMED = 2  # that a chapter names; more of different kinds
_KINDS = 3  # of them, at most
_ALIKE = 2  # of one kind, with the same reasons, that the table lists one by one; of several campaigns only 1
_LISTED = 8  # rows of the table; of several campaigns half as many each
_REASONS = 2  # that a row names


def count(content: Content) -> str:
    """Return how many results are odd, unexplained and undecided; empty where none is."""
    parts = []
    for source in content.sources:
        if words := plausibility.counts(source.view.odd):
            parts.append(f"{escape(source.name)}: {words}" if content.several else words)
    listed = markdown.needing("sec-odd", "@sec-odd lists them with their values and possible reasons.")
    return f"**Odd results:** {' '.join(parts)} {listed}" if parts else ""


def listed(content: Content) -> str:
    """Return the table of the surest odd results, in which many of one kind and with the same reasons share a row."""
    alone, most = (1, _LISTED // 2) if content.several else (_ALIKE, _LISTED)
    every = [(source, _groups(source.view.odd, alone)) for source in content.sources]
    groups = [(source, group) for source, its in every for group in its[:most]]
    left = sum(len(group) for _, its in every for group in its[most:])
    rows = [(source, _row(group)) for source, group in groups]
    table = content.table(
        ["where", "what contradicts; how sure", "possible reason, with evidence"],
        rows,
        caption=f"Results that contradict what must be expected. {{#{LABEL}}}",
        empty="No result contradicts what must be expected.",
    )
    more = f", also the {plural(left, 'result')} that the table leaves out" if left else ""
    shared = left or any(len(group) > 1 for _, group in groups)
    return f"{table}\n\n[data/{FILE}](data/{FILE}) has each result with its values{more}." if shared else table


def _groups(odd: Sequence[Oddity], alone: int = _ALIKE) -> list[list[Oddity]]:
    """Return odd results that a row tells of: the surest of each kind alone, and all further ones together."""
    kinds: dict[tuple[str, ...], list[Oddity]] = {}
    for one in odd:
        kinds.setdefault((one.rule, *(reason.cause for reason in one.explanations)), []).append(one)
    groups = []
    for alike in kinds.values():
        count = len(alike) if len(alike) == alone + 1 else alone
        groups += [[one] for one in alike[:count]] + ([alike[count:]] if alike[count:] else [])
    return sorted(groups, key=lambda group: odd.index(group[0]))


def _row(group: Sequence[Oddity]) -> list[str]:
    first = group[0]
    if len(group) == 1:
        place = ", ".join(filter(None, (title(first.benchmark), first.setting)))
        found = f"{first.what}: {plausibility.numbers(first)}"
        reasons = joined(map(str, first.explanations[:_REASONS])) or "unexplained"
        return [escape(place), escape(f"{found}; {first.confidence}"), escape(reasons)]
    counts = Counter(title(one.benchmark) for one in group)
    times = [one.times for one in group if not math.isnan(one.times)]
    place = f"{len(group)} more like those above: "
    place += ", ".join(f"{name} ({count})" for name, count in counts.most_common())
    rules = {rule.code: rule.expected for rule in plausibility.RULES}
    found = f"expected: {rules.get(first.rule, first.what)}"
    found += f"; {format_range(min(times), max(times))} times" if times else ""
    reasons = joined(one.cause for one in first.explanations[:_REASONS]) or "unexplained"
    sure = joined(f"{name} ({count})" for name, count in Counter(one.confidence for one in group).items())
    return [escape(place), escape(f"{found}; {sure}"), escape(reasons)]


def as_csv(content: Content) -> str:
    """Return all odd results with their values, for a spreadsheet; empty where there are none."""
    return csv_export.of_rows(
        {
            "campaign": source.name,
            "benchmark": one.benchmark,
            "setting": one.setting,
            "rule": one.rule,
            "what contradicts": one.what,
            "values": plausibility.numbers(one),
            "confidence": one.confidence,
            "possible reasons": joined(map(str, one.explanations)) or "unexplained",
            "to decide it": one.again,
        }
        for source in content.sources
        for one in source.view.odd
    )


def comment(content: Content) -> None:
    """Add to each chapter the odd results of its benchmarks, each to the chapter with the fewest other benchmarks."""
    for source in content.sources:
        chapters = [one for one in content.chapters.values() if one.path in source.notebooks]
        found: dict[int, list[Oddity]] = {}
        for odd in source.view.odd:
            if own := [one for one in chapters if odd.benchmark in _benchmarks(one)]:
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
    """Return the benchmarks of a chapter's study; none where its notebook has no study."""
    return _of_notebook(chapter.path.name)


def _cell(odd: Sequence[Oddity]) -> Any:
    """Return a section with a sentence for each odd result."""
    surest: dict[str, Oddity] = {}
    for one in odd:
        surest.setdefault(one.rule, one)
    kinds = [*surest.values()][:_KINDS]
    chosen = kinds + [one for one in odd if one not in kinds][: max(0, _NAMED - len(kinds))]
    lines = [escape(plausibility.sentence(replace(one, benchmark=_named(one)))) for one in odd if one in chosen]
    more = len(odd) - len(chosen)
    rest = f"\n\n{markdown.needing(LABEL, f'@{LABEL} tells of {more} more of these benchmarks.')}" if more > 0 else ""
    cell = new_markdown_cell(f"## Odd results {{.unnumbered}}\n\n{markdown.bullets(lines)}{rest}")
    cell["id"] = "odd"
    return cell


def _named(one: Oddity) -> str:
    name = title(one.benchmark)
    return name[:1].upper() + name[1:]


BLOCKS = {"odd-count": count, "odd": listed}
