"""Resolution of the clock in a comparison: values that are bounds, and differences below two clock steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labkit import stats
from labkit.judge.comparison.judging import SAME, UNDECIDED, Judgement
from labkit.judge.comparison.matching import Points
from labkit.read.records.resolution import STEPS, TICKS, coarse_of, columns, spans

UNRESOLVED = f"the values differ by less than {STEPS} steps of the clock, or span fewer than {TICKS}"
_EXACT = ("p50", "max")  # times that occurred, which are whole steps
_ENOUGH = STEPS - 1e-6
_NUMBERS = ("shift", "shift_low", "shift_high", "ratio", "ratio_low", "ratio_high")


@dataclass(frozen=True)
class Resolved:
    """Resolution of the clock for the two sides of a point.

    Parameters
    ----------
    bounds : whether the value of the base, and that of the side, spans fewer than ten steps of the clock.
    apart : difference of both values in steps of the clock; infinity if the clock does not limit it.
    """

    bounds: tuple[bool, bool]
    apart: float

    def applied(self, judgement: Judgement) -> Judgement:
        """Remove the numbers and the verdict that the clock does not resolve."""
        near, bound = self.apart < _ENOUGH, any(self.bounds)
        unknown = {SAME: bound, UNDECIDED: bound and near}.get(judgement.verdict, near)
        if bound:  # differences and ratios of bounds are unknown
            nothing: dict[str, Any] = dict.fromkeys(_NUMBERS, math.nan)
            judgement = replace(judgement, **nothing, deciles=())
        return replace(judgement, verdict=UNDECIDED, reason=UNRESOLVED, launches_needed=0) if unknown else judgement


def between(base: float, side: float) -> Resolved:
    """Return the resolution of two medians, from the number of clock steps that each spans.

    Examples
    --------
    >>> between(8.0, 20.0).bounds, between(30.0, 31.0).apart
    ((True, False), 1.0)
    """
    return Resolved((base < TICKS, side < TICKS), abs(side - base))


def resolved(points: Points, metric: str, statistic: str) -> list[list[Resolved]]:
    """Return for each side and point what the clock resolves, compared with the first side.

    Parameters
    ----------
    metric, statistic : what is compared.
    """
    bounds, steps = [], []
    sampled = np.zeros(len(points), bool)
    for side, (launches, rows, starts) in enumerate(zip(points.sides, points.rows, points.starts, strict=True)):
        table = columns(launches.rows, metric)
        bounds.append(np.logical_or.reduceat(coarse_of(table, metric, statistic)[rows], starts).tolist())
        steps.append(stats.medians(spans(table, metric, statistic)[rows], points.number(side), len(points)))
        sampled |= np.logical_or.reduceat(launches.rows["n"].to_numpy()[rows] > 0, starts)
    fine = [False] * len(points) if statistic in _EXACT else sampled.tolist()
    found = []
    for side in range(1, len(points.sides)):
        apart = np.abs(steps[side] - steps[0])
        parts = zip(bounds[0], bounds[side], np.where(np.isnan(apart), math.inf, apart).tolist(), fine, strict=True)
        # a mean over many samples is finer than a step
        found.append([Resolved((a, b), math.inf if mean and not (a or b) else by) for a, b, by, mean in parts])
    return [list(each) for each in zip(*found, strict=True)]
