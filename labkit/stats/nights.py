"""What the points of a night have in common.

Points of one night share its day: the machine is warmer, another job runs, a clock is lower. A factor common to them is
estimated as the median of their ratios to their own reference medians (the median polish of a table, by columns) [1]_.
Values are logarithms in which more is worse, so that factors are differences.

References
----------
.. [1] J. W. Tukey, Exploratory Data Analysis, Addison-Wesley 1977, ch. 11.
.. [2] G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, ch. 4: limits of the mean of future values.
.. [3] G. E. P. Box, G. M. Jenkins, Time Series Analysis, Holden-Day 1970, ch. 2: the variance of means of AR(1).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.limits import deviation, student

FIRST = 10  # nights of a series that are its first reference
MEMBERS = 5  # points with a common factor, at least
CORRELATION = 0.5  # of the common factor from night to night, which its limits allow for

Floats = NDArray[np.float64]


def first(values: Floats) -> NDArray[np.bool_]:
    """Return which nights are the first `FIRST` of each series that have a value, (nights, series)."""
    known = ~np.isnan(values)
    return np.asarray(known & (np.cumsum(known, axis=0) <= FIRST))


def medians(values: Floats) -> Floats:
    """Return the median of each column without NaN; NaN where there is nothing else.

    Examples
    --------
    >>> medians(np.array([[1.0, math.nan], [4.0, math.nan], [math.nan, math.nan]])).tolist()
    [2.5, nan]
    """
    if not len(values):
        return np.full(values.shape[1], math.nan)
    count, ordered = np.count_nonzero(~np.isnan(values), axis=0), np.sort(values, axis=0)
    low, high = (
        np.take_along_axis(ordered, place[None], 0)[0] for place in (np.maximum(count - 1, 0) // 2, count // 2)
    )
    return np.asarray(np.where(count > 0, (low + high) / 2, math.nan))


def common_factor(values: Floats) -> Floats:
    """Return how much worse the points of each night are together, (nights,); NaN with fewer than `MEMBERS` of them.

    Parameters
    ----------
    values : (nights, points), logarithms in which more is worse; NaN where a night lacks a point.
    """
    own = medians(np.where(first(values), values, math.nan))
    ratios = values - own
    enough = np.count_nonzero(~np.isnan(ratios), axis=1) >= MEMBERS
    return np.where(enough, medians(ratios.T), math.nan)


@lru_cache(maxsize=4096)
def reach(past: int, ahead: int, correlation: float = 0.0) -> float:
    """Return the deviation of the mean of the next values from that of past ones, in sample deviations of these.

    Parameters
    ----------
    past, ahead : how many values.
    correlation : of neighbouring values of an AR(1) process; 0 if they are independent.

    Examples
    --------
    >>> reach(4, 4) == math.sqrt(1 / 4 + 1 / 4), round(reach(10, 1, 0.5), 2)
    (True, 1.14)
    """
    if not correlation:
        return math.sqrt(1 / past + 1 / ahead)
    places = np.arange(past + ahead)
    together = correlation ** np.abs(places[:, None] - places)
    weights = np.repeat((-1 / past, 1 / ahead), (past, ahead))
    sample = (past - float(together[:past, :past].sum()) / past) / (past - 1)
    return math.sqrt(float(weights @ together @ weights) / sample)


def upper(past: ArrayLike, chance: float, ahead: int = 1, correlation: float = 0.0) -> float:
    """Return the limit that the mean of the next values exceeds with a chance: Student's prediction limit [2]_ [3]_.

    Parameters
    ----------
    past : two values at least.
    """
    values = np.asarray(past, np.float64)
    scale = student(chance, len(values) - 1) * reach(len(values), ahead, correlation)
    return float(values.mean()) + scale * deviation(values.tolist())
