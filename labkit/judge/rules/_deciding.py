"""Decide whether one point is beyond another, for rules on what to expect. A single launch never decides."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.finding import Decided, Level
from labkit.judge.view.points import Point
from labkit.stats.decision import RELEVANT, above, beyond_limit, enough

END = math.log1p(RELEVANT)  # up to which a difference does not matter, as a logarithm
FAR = 1.25  # times that a slow launch is the next one
DOUBTFUL = 1.5  # times from which launches that are too few are worth more of them
APART = 3.0  # times the range of the other launches that a slow launch is away from them
LEAST = 3  # launches of which one can be called slow


REMEDY = "Measure again with the given command. If the result stays, explain it in your text, or call it unexplained."
IMPORTED = "Explain it in your text, or call it unexplained."
SHOWN = Decided(how="tested", test="Mann and Whitney", correction="Holm", error=1 - stats.LEVEL)
ABOVE = Decided(how="tested", test="sign", error=1 - stats.LEVEL)
OPEN = Decided(how="few launches")


@dataclass(frozen=True)
class Decision:
    """Factor by which a point exceeds another one, and how this was decided."""

    times: float
    decided: Decided


def level_of(decided: Decided) -> Level | None:
    """Return the level of a finding that launches do not decide; None for the level of its rule."""
    return "note" if decided == OPEN else None


def beyond(large: Point, small: Point, tests: int = 1) -> Decision | None:
    """Return the certainty that the values of one point are larger than those of another; None if undecided.

    Parameters
    ----------
    large, small : the points; all values above 0.
    tests : size of the family: comparisons of the series.
    """
    if not (small.centre > 0 and large.centre > small.centre):
        return None
    times = large.centre / small.centre
    if above(np.log(small.values)[None], np.log(large.values)[None], END, tests)[0]:
        return Decision(times, SHOWN)
    if all(enough(len(one.values), len(one.values), tests, larger=True) for one in (small, large)):
        return None
    return Decision(times, OPEN) if times >= DOUBTFUL else None


def over(point: Point, limit: float) -> Decision | None:
    """Return the certainty that a point is above an exactly known limit; None if its launches do not show it."""
    far = limit * (1 + RELEVANT)
    if not (limit > 0 and float(point.values.min()) > far):
        return None
    [side] = beyond_limit([point.values], [far])
    return Decision(point.centre / limit, ABOVE if side == "above" else OPEN)


def slowest(values: NDArray[np.float64], sign: int) -> tuple[int, float] | None:
    """Return the launch that is far from all others, and its ratio to the next one; None without such a launch.

    Parameters
    ----------
    values : (launches,), above 0.
    sign : 1 if larger values are worse, else −1.

    Examples
    --------
    >>> slowest(np.array([2.0, 2.1, 4.2]), 1), slowest(np.array([2.0, 4.0, 6.0]), 1)
    ((2, 2.0), None)
    """
    if len(values) < LEAST:
        return None
    logs = np.log(values) * sign
    places = np.argsort(logs)
    gap, spread = float(logs[places[-1]] - logs[places[-2]]), float(logs[places[-2]] - logs[places[0]])
    return (int(places[-1]), float(np.exp(gap))) if gap >= max(math.log(FAR), APART * spread) else None
