"""Launches that hit their time cap before their interval was narrow enough."""

from __future__ import annotations

import math
from collections.abc import Iterator

from labkit.judge.finding import SHARE, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.judge.view.points import holding


def check(view: View) -> Iterator[Finding]:
    """Yield points that hit their time cap before the interval of the median was narrow enough."""
    wanted = view.of_kinds(lambda one: one.effort.ci, math.nan)
    capped = holding(view.column("stopped_by"), lambda reasons: "cap" in reasons)
    for row in view.rows(capped & (view.column("ci_width") > wanted)):
        width, asked = (Value(value=v, unit=SHARE) for v in (row["ci_width"], float(wanted[row.place])))
        yield RULE.found(view.subject(row), width=width, asked=asked)


RULE = Rule(
    code="interval-not-reached",
    kind="violation",
    level="doubtful",
    must="a launch ends when its interval is narrow enough",
    why="the median is less precise than requested",
    says="the time cap ended it with an interval of {width} instead of {asked}",
    remedy="Raise --time-cap, or accept a wider interval with --ci.",
    check=check,
)
