"""Topics of a chapter: the benchmarks of its study, and the points that its parameters select.

Chapters of one campaign may share benchmarks, but each covers only its own points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from labkit import benchmarks as registry
from labkit import studies
from labkit.benchmarks import FileBenchmark
from labkit.errors import LabkitError
from labkit.judge import checking
from labkit.judge.finding import Finding
from labkit.judge.rules import run_over_sizes, setting_matters, under_load
from labkit.read.records import by_benchmark
from labkit.report import judged
from labkit.report.campaigns import Member
from labkit.report.notebook import Chapter
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import Study

if TYPE_CHECKING:
    import pandas as pd


def finding(chapter: Chapter, member: Member) -> Finding | None:
    """Return the finding of a chapter; None if its notebook does not compare, or nothing was measured."""
    study = _study(chapter)
    if study is None or study.answers:
        return None
    return _finding(member, chapter.path.stem, tuple(study.benchmarks), tuple(study.focus))


def benchmarks(chapter: Chapter) -> Sequence[str]:
    """Return the benchmarks of a chapter; none if its notebook has no study."""
    study = _study(chapter)
    return () if study is None else study.benchmarks


def answers(chapter: Chapter) -> bool:
    """Whether a chapter gives verdicts, like the answer about the whole campaign."""
    study = _study(chapter)
    return study is not None and study.answers


@lru_cache(256)  # each part of a report asks for them
def own(member: Member, notebook: str) -> pd.DataFrame:
    """Return the rows of a campaign that a notebook shows; all rows if the campaign does not name its parameters."""
    study = _named(member).get(notebook)
    if study is None:
        return member.summary
    shown = {FINGERPRINT.of(one.meta) for one in member.points if study.asks_for(one)}
    return member.summary[member.summary["fingerprint"].isin(shown)]


def _study(chapter: Chapter) -> type[Study] | None:
    """Return the study of a chapter; None if its notebook has none."""
    try:
        return studies.of_notebook(chapter.path.name)
    except LabkitError:
        return None


@lru_cache(8)
def _named(member: Member) -> Mapping[str, Study]:
    """Return the study of each notebook that a campaign names."""
    return studies.of_campaign(member.facts, member.path)


@lru_cache(1024)  # the abstract, the verdicts and the conclusion ask for the same
def _finding(
    member: Member, notebook: str, benchmarks: tuple[str, ...], focus: tuple[tuple[str, str], ...]
) -> Finding | None:
    rows = own(member, notebook)
    one = of_topic(rows[~rows["fingerprint"].isin(member.doubted)] if len(rows) else rows, benchmarks, focus)
    return checking.explained(member.view, [one])[0] if one else None


def of_topic(summary: pd.DataFrame, benchmarks: Sequence[str], focus: Sequence[tuple[str, str]] = ()) -> Finding | None:
    """Return the most important finding of a topic, without causes; None if nothing of it was measured.

    It is about the first setting in `focus` that the rows allow, else the costliest setting of its benchmarks, else the
    first curve over sizes. A finding without a claim counts only if there is no other.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    benchmarks : benchmarks of the topic, the most important first.
    focus : benchmarks and factors to prefer.
    """
    every = by_benchmark(summary)
    tables = {name: every[name] for name in dict.fromkeys([*(b for b, _ in focus), *benchmarks]) if name in every}
    first = [
        under_load.of_rows(tables[name])
        if factor == under_load.FACTOR
        else setting_matters.of_rows(tables[name], (factor,))
        for name, factor in focus
        if name in tables
    ]
    others = [one for rows in tables.values() if (one := setting_matters.of_rows(rows))]
    runs = [run_over_sizes.of_rows(rows) for rows in tables.values()]
    found = [one for one in (*first, *sorted(others, key=cost, reverse=True), *runs) if one is not None]
    return next((one for one in found if one.claims), found[0] if found else None)


def chosen(found: Sequence[Finding], most: int, least: int) -> list[Finding]:
    """Return the most important findings: of the first topic, then certain ones by cost, in the order of the topics.

    A finding of several topics counts once. If too few are certain, others follow, but no comparison without a claim.

    Parameters
    ----------
    most : findings to return, at most.
    least : findings to return if there are so many topics.
    """
    distinct = list({judged.told(one): one for one in found if one.claims}.values())
    rest = sorted(distinct[1:], key=cost, reverse=True)
    best = [*distinct[:1], *(one for one in rest if cost(one) > 1)][:most]
    best += [one for one in rest if one not in best][: max(0, least - len(best))]
    return [one for one in distinct if one in best]


def weight(one: Finding) -> tuple[bool, float]:
    """Return the importance of a finding for readers: messages before files, then its cost."""
    known = registry.look_up(one.subject.benchmark)
    files = isinstance(known, FileBenchmark) or one.subject.benchmark.startswith("storage.")
    return not files, cost(one)


def cost(one: Finding) -> float:
    """Return the cost factor of a finding; 1 if it is not certain."""
    return one.cost if math.isfinite(one.cost) else 1.0
