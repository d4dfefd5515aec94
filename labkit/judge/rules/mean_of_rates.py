"""Means of rates that labkit did not compute."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import means
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield rates with only a mean, which labkit did not compute."""
    for row, metric in means(view, lambda metric: metric.kind == "rate", only=True):
        if row["origin"] != "measured":
            yield RULE.found(view.subject(row), origin=str(row["origin"]), metric=metric.label)


RULE = Rule(
    code="mean-of-rates",
    kind="violation",
    level="doubtful",
    source=3,
    must="a mean of rates is total work over total time",
    why="an arithmetic mean of rates gives fast iterations too much weight",
    says="the {origin} {metric} is a mean of unknown kind",
    remedy="Find out how the tool averages and say so, or measure with labkit.",
    imported="Find out how the tool averages, and say so.",
    check=check,
)
