"""Limits for new launches from past ones, with a chosen chance of a false alarm.

The farther one of two limits counts. The first is the distribution-free limit for new values of one population, an
order statistic of the past (exceedance test) [1]_. It is exact if launches of all campaigns are exchangeable. Campaigns
of other days may differ by more than their launches do. The second limit therefore takes one value of each campaign,
and is Student's prediction limit of their logarithms. It needs `CAMPAIGNS` campaigns.

References
----------
.. [1] G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, ch. 5.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

CAMPAIGNS = 5  # from so many on, the limit from the campaigns counts too
_BITS = 109  # twice those of a float, and more
LARGEST = 700.0  # exponent of the largest limit, meaning none
_NEARLY_ALL = 1 - 1e-6  # above this central probability, 1 minus it has too few digits
_MOST = 100_000  # launches of the past that `needed` tries


@dataclass(frozen=True)
class Limit:
    """Limit for new launches.

    Parameters
    ----------
    value : the limit, in the unit of the launches; NaN if there are too few of them.
    beyond : how many new launches must be beyond it to be called worse.
    launches, campaigns : launches and campaigns of the past.
    needed : fewest past launches for a limit.
    by_campaigns : whether the spread of campaigns set the limit.
    """

    value: float
    beyond: int
    launches: int
    campaigns: int
    needed: int
    by_campaigns: bool = False

    @property
    def past(self) -> str:
        """Launches and campaigns of the past, in words."""
        words = (("launch", "launches", self.launches), ("campaign", "campaigns", self.campaigns))
        return " of ".join(f"{count} {one if count == 1 else many}" for one, many, count in words)


@lru_cache(maxsize=4096)
def chance_beyond(past: int, new: int, rank: int, beyond: int) -> float:
    """Return the chance that at least `beyond` of the new values exceed the rank-th smallest of the past ones.

    Exact for any continuous population; smaller with ties.

    Examples
    --------
    >>> chance_beyond(1, 1, 1, 1), round(chance_beyond(12, 6, 12, 6) * math.comb(18, 6), 9)
    (0.5, 1.0)
    """
    # orders with k values beyond: C(past - rank + k, k) · C(rank - 1 + new - k, new - k), each from the one before
    ways = term = math.comb(past - rank + beyond, beyond) * math.comb(rank - 1 + new - beyond, new - beyond)
    for k in range(beyond, new):
        term = term * (past - rank + k + 1) * (new - k) // ((k + 1) * (rank - 1 + new - k))
        ways += term
    return ways / math.comb(past + new, new)


@lru_cache(maxsize=4096)
def order(past: int, new: int, chance: float) -> tuple[int, int] | None:
    """Return the rank and the number beyond it for which `chance_beyond` is at most the given chance.

    The number is more than half of the new values, or more if that does not suffice. The rank is the smallest possible.
    """
    if not past or chance_beyond(past, new, past, new) > chance:
        return None
    beyond = _first(new // 2 + 1, new, lambda count: chance_beyond(past, new, past, count) <= chance)
    return _first(1, past, lambda rank: chance_beyond(past, new, rank, beyond) <= chance), beyond


def _first(low: int, high: int, holds: Callable[[int], object]) -> int:
    """Return the smallest number that meets a condition, which larger ones meet too; `high` if no smaller one does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


@lru_cache(maxsize=1024)
def needed(new: int, chance: float) -> int:
    """Return the fewest past values that give a limit for this number of new ones."""
    return _first(1, _MOST, lambda past: order(past, new, chance))


@lru_cache(maxsize=1024)
def student(chance: float, freedom: int) -> float:
    """Return the value that Student's t exceeds with this chance (below 1/2), for whole degrees of freedom.

    Examples
    --------
    >>> round(student(0.025, 4), 3), round(student(0.0001, 9), 2)
    (2.776, 6.01)
    """
    low, high = 0.0, 1.0
    while tail(high, freedom) > chance:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, freedom) > chance else (low, middle)
    return high


def tail(t: float, freedom: int) -> float:
    """Return the chance that Student's t exceeds a value, by the series for whole degrees of freedom.

    labkit does not depend on SciPy, which has this function.

    The first terms of the series, limited by the degrees of freedom, give the central probability. The terms after them
    give the tail without cancellation.
    """
    root, angle = math.hypot(t, math.sqrt(freedom)), math.atan2(t, math.sqrt(freedom))
    sine, cosine = t / root, math.sqrt(freedom) / root
    even = freedom % 2 == 0
    total = term = 1.0 if even else cosine
    for k in range(2 if even else 3, freedom - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    middle = sine * total if even else 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    if middle < _NEARLY_ALL:
        return (1 - middle) / 2
    if freedom > 1:
        term *= cosine**2 * (freedom - 1) / freedom
    rest, k = 0.0, freedom
    while term > rest * sys.float_info.epsilon:
        rest += term
        k += 2
        term *= cosine**2 * (k - 1) / k
    return sine * rest * (0.5 if even else 1 / math.pi)


def limit(past: Sequence[ArrayLike], new: int, chance: float, *, higher: bool) -> Limit:
    """Return the limit that new launches pass with at most this chance if nothing has changed.

    Parameters
    ----------
    past : values of the launches of each campaign.
    new : number of new launches.
    chance : chance of a false alarm.
    higher : whether higher values are worse.
    """
    campaigns = [array for values in past if (array := np.asarray(values, np.float64).ravel()).size]
    every = np.sort(np.concatenate(campaigns)) if campaigns else np.empty(0)
    return limit_of(every, np.array([np.median(values) for values in campaigns]), new, chance, higher=higher)


def limit_of(
    every: NDArray[np.float64], medians: NDArray[np.float64], new: int, chance: float, *, higher: bool
) -> Limit:
    """`limit` from the values of all launches of the past, sorted, and the median of each campaign."""
    sign = 1.0 if higher else -1.0
    place, least = order(len(every), new, chance), needed(new, chance)
    if place is None:
        return Limit(math.nan, new // 2 + 1, len(every), len(medians), least)
    value, by_campaigns = sign * float(every[place[0] - 1 if higher else -place[0]]), False
    if len(medians) >= CAMPAIGNS:
        predicted = _predicted((sign * medians).tolist(), chance)
        value, by_campaigns = max(value, predicted), predicted > value
    return Limit(sign * value, place[1], len(every), len(medians), least, by_campaigns)


def _predicted(medians: Sequence[float], chance: float) -> float:
    """Return Student's prediction limit of the next of these values, of their logarithms if all have one sign."""
    signs = {math.copysign(1.0, value) if value else 0.0 for value in medians}
    if signs in ({1.0}, {-1.0}):
        sign = signs.pop()
        logs = [sign * math.log(abs(value)) for value in medians]
        return sign * math.exp(min(sign * _upper(logs, chance), LARGEST))
    return _upper(medians, chance)


def _upper(values: Sequence[float], chance: float) -> float:
    """Return the upper prediction limit of the next value of a normal population."""
    count = len(values)
    reach = student(chance, count - 1) * deviation(values) * math.sqrt(1 + 1 / count)
    return statistics.fmean(values) + reach


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, exactly rounded like `statistics.stdev`, but 20 times as fast.

    Examples
    --------
    >>> deviation([1.0, 2.0, 4.0]) == statistics.stdev([1.0, 2.0, 4.0])
    True
    """
    ratios = [value.as_integer_ratio() for value in values]
    scale, count = max(below for _, below in ratios), len(values)  # powers of two
    whole = [above * (scale // below) for above, below in ratios]
    above, below = count * sum(one * one for one in whole) - sum(whole) ** 2, scale * scale * count * (count - 1)
    # the root of so many bits that rounding them once more, to a float, gives what rounding the exact root does
    shift = (above.bit_length() - below.bit_length() - _BITS) // 2
    high, low = (above, below << 2 * shift) if shift >= 0 else (above << -2 * shift, below)
    root = math.isqrt(high // low)
    root |= root * root * low != high
    return float(root << shift) if shift >= 0 else root / (1 << -shift)
