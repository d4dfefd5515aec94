"""Iterations that are short compared with the resolution of the clock."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from labkit import benchmarks
from labkit.judge.finding import SHARE, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.rules._benchmarks import of_benchmarks
from labkit.judge.view import View
from labkit.point.columns import statistic_column

_LIMIT = 0.1  # of the median that the step of the clock may be


def check(view: View) -> Iterator[Finding]:
    """Yield points whose median spans too few steps of the clock."""
    share = np.full(len(view.summary), math.nan)
    for name, of_benchmark in of_benchmarks(view):
        for metric in benchmarks.get(name).metrics:
            step, value = (view.column(statistic_column(metric, s)) for s in ("step", "p50"))
            places = np.flatnonzero(of_benchmark & np.isnan(share) & (value >= 0) & (step > 0))
            shares = step[places] / np.maximum(value[places], step[places] / 2)  # a time of 0 is below half a step
            share[places[shares > _LIMIT]] = shares[shares > _LIMIT]
    for row in view.rows(~np.isnan(share)):
        yield RULE.found(view.subject(row), share=Value(value=float(share[row.place]), unit=SHARE))


RULE = Rule(
    code="clock-step",
    kind="violation",
    level="doubtful",
    must="the clock resolves a tenth of the median",
    why="a coarse clock rounds every sample",
    says="the clock's step is {share} of the median",
    remedy="Time more work at once, or use another clock source.",
    imported="Treat such values as bounds: neither the tool's clock nor its printed digits resolve them.",
    check=check,
)
