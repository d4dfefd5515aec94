"""What the points of a night have in common, which nights are the reference of later ones, and slow drifts.

Points of one night share its day: the machine is warmer, another job runs, a clock is lower. A factor common to them is
estimated as the median of their ratios to their own reference medians (the median polish of a table, by columns) [1]_.
Values are logarithms in which more is worse, so that factors are differences.

The first `FIRST` nights of a series are its first reference. A later night enters it once `WAIT` nights after it
passed, unless it was found to be worse by then: what one night misses is not absorbed at once. The last nights together
are compared with the first reference, which stays as it is, so that slow changes are found too: a moving sum with the
limit of a mean of future values [2]_ [4]_. As for a single night, most launches must be beyond the distribution-free
limit too, so that a few slow launches are no change.

References
----------
.. [1] J. W. Tukey, Exploratory Data Analysis, Addison-Wesley 1977, ch. 11.
.. [2] G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, ch. 4: limits of the mean of future values.
.. [3] G. E. P. Box, G. M. Jenkins, Time Series Analysis, Holden-Day 1970, ch. 2: the variance of means of AR(1).
.. [4] P. Bauer, P. Hackl, The use of MOSUMS for quality control, Technometrics 20 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.limits import CAMPAIGNS, deviation, student

FIRST = 10  # nights of a series that are its first reference
WAIT = 3  # later nights that pass before a night enters the reference
WINDOWS = (4, 12)  # last nights whose mean is compared with the first reference
ALONE, DRIFT = 0.9, 0.05  # of the chance of a false alarm: for the night alone, and for each window
MEMBERS = 5  # points with a common factor, at least
CORRELATION = 0.5  # of the common factor from night to night, which its limits allow for

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def first(values: Floats) -> Flags:
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


@dataclass(frozen=True, eq=False)
class Replay:
    """What each night was found to be, in the order of time, (nights, series).

    Parameters
    ----------
    reference : nights with which the last one is compared.
    alone : nights that are worse than their reference allows.
    drifting : nights with which the last nights together are worse than the first reference allows.
    rejected : nights that do not enter the reference, for one of these reasons.
    drifts, allowed, found : difference of the last nights from the first reference, its limit, and whether they are
        worse, for each of `WINDOWS`, (windows, series); NaN with fewer nights.
    """

    reference: Flags
    alone: Flags
    drifting: Flags
    rejected: Flags
    drifts: Floats
    allowed: Floats
    found: Flags


def replay(
    values: Floats,
    chance: float,
    beyond: Callable[[Flags, int, Flags, float], bool],
    *,
    accepted: Flags | None = None,
    least: ArrayLike = 0.0,
    correlation: float = 0.0,
) -> Replay:
    """Judge night after night as a gate would have done at the time.

    Parameters
    ----------
    values : (nights, series), logarithms in which more is worse; NaN where a night lacks a series.
    chance : of a false alarm of one night in one series.
    beyond : whether the launches of some nights, in a series, are beyond the limit that those of reference nights give
        with a chance; all nights are flags. It is asked only about nights whose medians are beyond Student's limit.
    accepted : (nights,), those that a person made part of the reference.
    least : (series,), differences up to which the last nights may be worse together in any case.
    correlation : of neighbouring nights.
    """
    known, last = ~np.isnan(values), len(values) - 1
    place = np.cumsum(known, axis=0)
    chosen = np.zeros(len(values), bool) if accepted is None else accepted
    base = known & ((place <= FIRST) | chosen[:, None])
    alone, drifting, rejected, reference = (np.zeros(values.shape, bool) for _ in range(4))
    drifts, allowed = (np.full((len(WINDOWS), values.shape[1]), math.nan) for _ in range(2))
    found = np.zeros(drifts.shape, bool)
    for t in range(min(FIRST, last), last + 1):
        sound = known[:t] & ~rejected[:t]
        passed = np.cumsum(sound, axis=0)
        now = known[:t] & base[:t] | sound & (passed[-1:] - passed >= WAIT)
        judged = known[t] & (place[t] > FIRST) & ~chosen[t]
        limit = _limits(values[:t], now, ALONE * chance)
        for n in np.flatnonzero(judged & (values[t] > limit)).tolist():
            alone[t, n] = rejected[t, n] = beyond(np.arange(len(values)) == t, n, now[:, n], ALONE * chance)
        since = known[: t + 1] & ~base[: t + 1] & ~alone[: t + 1]
        after = np.cumsum(since[::-1], axis=0)[::-1]
        for place_of, width in enumerate(WINDOWS):
            window = since & (after <= width)
            full = since[t] & (np.count_nonzero(window, axis=0) == width)
            if not full.any():
                continue
            difference = _means(values[: t + 1], window) - _means(values[:t], base[:t])
            farthest = _limits(values[:t], base[:t], DRIFT * chance, width, correlation) - _means(values[:t], base[:t])
            farthest = np.maximum(farthest, least)
            worse = full & (difference > farthest)
            for n in np.flatnonzero(worse).tolist():
                worse[n] = beyond(window[:, n], n, base[:t, n], DRIFT * chance)
            drifting[t] |= worse
            rejected[: t + 1] |= window & worse
            if t == last:
                drifts[place_of, full], allowed[place_of, full] = difference[full], farthest[full]
                found[place_of] = worse
        if t == last:
            reference[:t] = now
    return Replay(reference, alone, drifting, rejected, drifts, allowed, found)


def _means(values: Floats, chosen: Flags) -> Floats:
    """Return the mean of the chosen values of each series; NaN without any."""
    count = np.count_nonzero(chosen, axis=0)
    return np.asarray(np.where(chosen, values, 0.0).sum(axis=0) / np.where(count, count, math.nan))


def _limits(values: Floats, chosen: Flags, chance: float, ahead: int = 1, correlation: float = 0.0) -> Floats:
    """Return `upper` of the chosen values of each series; infinity with fewer than `limits.CAMPAIGNS`."""
    count, mean = np.count_nonzero(chosen, axis=0), _means(values, chosen)
    squares = np.where(chosen, (values - mean) ** 2, 0.0).sum(axis=0)
    found = np.full(values.shape[1], math.inf)
    for n in np.unique(count[count >= CAMPAIGNS]).tolist():
        here = count == n
        scale = student(chance, n - 1) * reach(n, ahead, correlation)
        found[here] = mean[here] + scale * np.sqrt(squares[here] / (n - 1))
    return found
