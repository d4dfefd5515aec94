"""Decide whether one point is beyond another: by `labkit.stats.decision`, never by a single launch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.plausibility.oddity import Confidence, Reading
from labkit.point.columns import METRICS
from labkit.stats.decision import RELEVANT, above, beyond_limit, enough

END = math.log1p(RELEVANT)  # up to which a difference does not matter, as a logarithm
FAR = 1.25  # times that a slow launch is the next one
DOUBTFUL = 1.5  # times from which launches that are too few are worth more of them
APART = 3.0  # times the range of the other launches that a slow launch is away from them
LEAST = 3  # launches of which one can be called slow


@dataclass(frozen=True)
class Point:
    """A point with the values of its launches.

    Parameters
    ----------
    row : of the summary.
    values : (launches,), the statistic of each launch, in the metric's unit.
    metric, statistic : which.
    where : the point among those that it is compared with, in words.
    at : its place on the axis of the comparison, such as the size in B.
    """

    row: Mapping[str, Any]
    values: NDArray[np.float64]
    metric: str
    statistic: str
    where: str
    at: float

    @property
    def centre(self) -> float:
        """Median over launches."""
        return float(np.median(self.values))

    @property
    def ends(self) -> tuple[float, float]:
        """Interval or range over launches; the value itself for one launch."""
        one = stats.headline(self.values)
        return (one.low, one.high) if one.launches > 1 else (one.centre, one.centre)

    @property
    def reading(self) -> Reading:
        """Its value for a record."""
        low, high = self.ends if len(self.values) > 1 else (math.nan, math.nan)
        fingerprint = str(self.row.get("fingerprint", ""))
        return Reading(self.where, self.centre, low, high, METRICS[self.metric].unit, len(self.values), fingerprint)

    @property
    def cost(self) -> float:
        """Time of an operation in any unit: the value of a cost, the inverse of a rate."""
        return self.centre if METRICS[self.metric].better == "lower" else 1 / self.centre


@dataclass(frozen=True)
class Decision:
    """How far and how surely a point is beyond another."""

    times: float
    confidence: Confidence


def beyond(large: Point, small: Point, tests: int = 1) -> Decision | None:
    """Return how sure it is that the values of one point are larger than those of another; None if that is open.

    Parameters
    ----------
    large, small : the points; all values above 0.
    tests : number of comparisons of the series: the family.
    """
    if not (small.centre > 0 and large.centre > small.centre):
        return None
    times = large.centre / small.centre
    if above(np.log(small.values)[None], np.log(large.values)[None], END, tests)[0]:
        return Decision(times, "shown")
    if all(enough(len(one.values), len(one.values), tests, larger=True) for one in (small, large)):
        return None
    return Decision(times, "undecided") if times >= DOUBTFUL else None


def over(point: Point, limit: float) -> Decision | None:
    """Return how sure it is that a point is above a limit that is known exactly; None if its launches are not."""
    far = limit * (1 + RELEVANT)
    if not (limit > 0 and float(point.values.min()) > far):
        return None
    [side] = beyond_limit([point.values], [far])
    return Decision(point.centre / limit, "shown" if side == "above" else "undecided")


def slowest(values: NDArray[np.float64], sign: int) -> tuple[int, float] | None:
    """Return which launch is far from all others, and how many times the next one it is; None if none is.

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
