"""A point that stands on a single launch."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import stats
from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield points with one launch."""
    for row in view.rows(view.random & (view.column("launches") == 1)):
        yield RULE.found(view.subject(row))


RULE = Rule(
    code="one-launch",
    kind="violation",
    level="bad",
    source=5,
    must=f"at least {stats.LAUNCHES} launches, for a 95 % interval",
    why="a single launch has no interval: nobody knows how far the next one would be from it",
    says="1 launch",
    remedy="Run again with --launches 6; labkit adds the missing launches.",
    imported="To import launches, run the tool 6 times, and import all outputs with one --testbed.",
    check=check,
)
