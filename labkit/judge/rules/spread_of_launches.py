"""Launches that differ by far more than their iterations explain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labkit.judge.finding import SHARE, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View

_MORE = 3  # times the interval inside a launch: then launches differ by more than iterations explain
_LEAST = 0.05  # of the median: less is of no interest


def check(view: View) -> Iterator[Finding]:
    """Yield points whose launches differ by far more than their iterations explain."""
    most = np.maximum(_MORE * view.column("ci_width"), _LEAST)  # NaN where there is no interval
    for row in view.rows((view.column("launches") > 2) & (view.column("spread_between") > most)):
        between, inside = (Value(value=row[name], unit=SHARE) for name in ("spread_between", "ci_width"))
        yield RULE.found(view.subject(row), between=between, inside=inside)


RULE = Rule(
    code="spread-of-launches",
    kind="violation",
    level="note",
    must="launches differ little more than iterations explain",
    why="something differs between launches that more iterations do not average out",
    says="launches spread by {between}, the interval inside a launch is {inside} wide",
    remedy="Run more launches, not more iterations; look for what differs between them.",
    imported="Look for what differs between the outputs.",
    check=check,
)
