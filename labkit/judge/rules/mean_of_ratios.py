"""Means of shares and of ratios."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import means
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield averaged shares and ratios."""
    for row, metric in means(view, lambda metric: metric.unit in ("%", "times"), only=False):
        if row["origin"] != "measured":
            yield RULE.found(view.subject(row), origin=str(row["origin"]), metric=metric.label)


RULE = Rule(
    code="mean-of-ratios",
    kind="violation",
    level="doubtful",
    source=4,
    must="ratios are made from averaged times",
    why="a mean of ratios depends on which side is the base",
    says="the {origin} {metric} is a mean of ratios",
    remedy="Compute the ratio from the tool's times or counts.",
    check=check,
)
