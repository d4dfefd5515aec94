"""Decide whether one point is beyond another: by launches, never by a single value."""

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
from labkit.stats import shift

RELEVANT = 1.05  # times: less is of no interest, however sure
FAR = 1.25  # times that the near ends of two ranges are apart where launches are too few for a test
DOUBTFUL = 1.5  # times from which a single launch is worth another
APART = 3.0  # times the range of the other launches that a slow launch is away from them
LEAST = 3  # launches of which one can be called slow
CHANCE = 1 - stats.LEVEL


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
    tests : number of comparisons of the series, for the correction. The one that matters is the first that Holm's
        method looks at, so it takes the factor of Bonferroni.
    """
    if not (small.centre > 0 and large.centre > small.centre):
        return None
    times = large.centre / small.centre
    fewest = min(len(large.values), len(small.values))
    if times >= RELEVANT and fewest >= shift.least_launches(1):
        p = shift.rank_sum_p(small.values, large.values) / 2  # one side: the other is expected
        if p * max(tests, 1) <= CHANCE:
            return Decision(times, "shown")
    if fewest > 1:
        return Decision(times, "indicated") if large.ends[0] >= FAR * small.ends[1] else None
    return Decision(times, "undecided") if times >= DOUBTFUL else None


def over(point: Point, limit: float, tests: int = 1) -> Decision | None:
    """Return how sure it is that the values of a point are above a limit that is known exactly.

    The chance that all launches lie above the limit although their median does not is 2 to the power of minus their
    number (sign test).
    """
    low, _ = point.ends
    if not (limit > 0 and low > limit * RELEVANT):
        return None
    times, launches = point.centre / limit, len(point.values)
    if float(point.values.min()) > limit and 0.5**launches * max(tests, 1) <= CHANCE:
        return Decision(times, "shown")
    return Decision(times, "indicated" if launches > 1 else "undecided")


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
