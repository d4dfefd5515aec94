"""Points with too few launches for a confidence interval."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import stats
from labkit.judge.finding import Count, Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._launches import IMPORTED, MUST, REMEDY
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield points with two launches or more, but too few for a confidence interval."""
    launches = view.column("launches")
    for row in view.rows(view.random & (launches > 1) & (launches < stats.LAUNCHES)):
        yield RULE.found(view.subject(row), launches=Count(row["launches"], "launch"))


RULE = Rule(
    code="few-launches",
    kind="violation",
    level="doubtful",
    source=5,
    must=MUST,
    why="the range of fewer launches has no known confidence level",
    says="{launches}, which give a range only",
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
