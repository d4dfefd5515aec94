"""Collectives that are faster with more ranks."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import benchmarks
from labkit.benchmarks import CollectiveBenchmark
from labkit.judge.finding import Finding
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY
from labkit.judge.rules._orders import CLUES, says, wrong_order
from labkit.judge.view import View
from labkit.judge.view.points import TIMED


def check(view: View) -> Iterator[Finding]:
    """Yield collectives that are faster with more ranks."""
    for series in view.series("ranks", float, lambda ranks: f"{ranks:.0f} ranks", metrics=TIMED, free=("ppn", "hosts")):
        if isinstance(benchmarks.get(series.benchmark), CollectiveBenchmark):
            yield from wrong_order(RULE, view, series, rises=True)


RULE = Rule(
    code="rank-order",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="a collective is not faster with more ranks",
    why="more ranks take part in the same work",
    says=says("more ranks take part"),
    clues=CLUES,
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
