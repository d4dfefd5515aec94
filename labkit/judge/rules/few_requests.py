"""Rates of requests to storage that count few of them."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Count, Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import have
from labkit.judge.view import View
from labkit.point.columns import Metric

_FEWEST = 100  # requests of a launch: one more or less changes the rate by 1 %


def check(view: View) -> Iterator[Finding]:
    """Yield points whose launches have fewer requests on average; those without the times of requests are unknown."""
    n, launches = view.column("n"), view.column("launches")
    for row in view.rows(view.random & have(view, _counts) & (n > 0) & (n < _FEWEST * launches)):
        yield RULE.found(view.subject(row), n=Count(row["n"], "request"), launches=Count(row["launches"], "launch"))


def _counts(metric: Metric, statistic: str) -> bool:
    return metric.name == "iops_per_s"


RULE = Rule(
    code="few-requests",
    kind="violation",
    level="doubtful",
    must=f"a rate of requests counts at least {_FEWEST} in each launch",
    why="in a short run the rate is a multiple of one request per run time, and an offered load is not reached",
    says="{n} in {launches}",
    remedy="Measure longer: a larger --time-cap, or -i 1000.",
    check=check,
)
