"""Points with samples but without a 99th percentile."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Count, Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import have
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield points whose launches have too few samples for a 99th percentile."""
    timed = (view.column("n") > 0) & (view.column("timing") == "each")
    for row in view.rows(view.random & timed & ~have(view, lambda _, statistic: statistic == "p99")):
        n, launches = Count(row["n"], "sample"), Count(row["launches"], "launch")
        yield RULE.found(view.subject(row), n=n, launches=launches)


RULE = Rule(
    code="no-tail",
    kind="violation",
    level="doubtful",
    source=8,
    must="percentiles beside the median: p99 needs 100 samples in each launch",
    why="a median does not show late iterations, which delay parallel programs",
    says="no p99: {n} in {launches}",
    remedy="Measure longer: --time-cap, or -i 1000.",
    check=check,
)
