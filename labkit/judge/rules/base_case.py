"""Ratios to a base case whose time is not known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._metrics import have
from labkit.judge.view import View

_BASES = ("alone_us", "isolated_us")  # times of base cases


def check(view: View) -> Iterator[Finding]:
    """Yield points with an impact factor but without the absolute time of its base case."""
    ratios = sorted({metric.name for metric, _, _ in view.numbers if metric.unit == "times"})
    base = have(view, lambda metric, _: metric.name in _BASES)
    first = np.full(len(view.summary), -1)
    for place in reversed(range(len(ratios))):
        first[have(view, lambda metric, _, name=ratios[place]: metric.name == name)] = place  # type: ignore[misc]
    for row in view.rows((first >= 0) & ~base):
        yield RULE.found(view.subject(row), ratio=ratios[first[row.place]])


RULE = Rule(
    code="base-case",
    kind="violation",
    level="bad",
    source=1,
    must="a ratio has the absolute time of its base case beside it",
    why="a ratio to a slow base case looks good although the time is long",
    says="{ratio} without the time alone",
    remedy="Measure the base case in the same campaign.",
    imported="Import the output of the base case into the same campaign.",
    check=check,
)
