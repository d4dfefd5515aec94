"""Costs with a mean only."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import means
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield costs that have a mean and no better statistic."""
    for row, metric in means(view, lambda metric: metric.kind == "cost", only=True):
        yield RULE.found(view.subject(row), metric=metric.label)


RULE = Rule(
    code="only-mean",
    kind="violation",
    level="doubtful",
    source=6,
    must="a median or percentiles, because times are not normally distributed",
    why="a few late iterations shift the mean far from the typical time",
    says="only the mean of the {metric} is known",
    remedy="Measure with timing=each, or with a tool that reports percentiles.",
    imported="Import the output of a tool that reports percentiles.",
    check=check,
)
