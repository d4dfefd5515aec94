"""99th percentiles that rest on too few samples."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import stats
from labkit.judge.finding import Count, Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import have
from labkit.judge.view import View
from labkit.judge.view.points import holding
from labkit.point.units import plural


def check(view: View) -> Iterator[Finding]:
    """Yield points whose 99th percentile has too few samples beyond it."""
    doubtful = holding(view.column("unreliable"), lambda names: "p99" in names)
    for row in view.rows(doubtful & have(view, lambda _, statistic: statistic == "p99")):
        yield RULE.found(view.subject(row), least=Count(stats.BEYOND, "sample"))


RULE = Rule(
    code="doubtful-tail",
    kind="violation",
    level="note",
    source=8,
    must=f"at least {plural(100 * stats.BEYOND, 'sample')} in each launch for a reliable p99",
    why="a percentile with few samples beyond it differs much from launch to launch",
    says="p99 with fewer than {least} beyond it",
    remedy="Measure longer, or make no statement about p99.",
    check=check,
)
