"""Change points of a series of campaigns: places where the values move to another level, for a time or permanently.

The values are one per campaign, in the order of time, because launches of one campaign share their day. Consecutive
days resemble each other, and a wandering series looks like a series with steps. A change must therefore pass two tests:

- *Dependence.* The values are an autoregressive series, x(t) - level = ρ (x(t-1) - level) + noise, ρ ≥ 0, with one
  level or with another one in a part of the series. The statistic is twice the logarithm of the ratio of the two
  likelihoods at the best part [3]_. Both models have their own best ρ, so that a change does not count as dependence.
  Because times have a floor, both also fit the logarithm of the distance from the least or the largest value (Box and
  Cox) [4]_. The model without a change may have one shock that dies out, at the price of Student's t. p comes from
  simulated series with the same small-sample bias of ρ: the largest p for ρ = 0.6, 0.8 and 0.9. For weaker dependence
  it is too large.
- *Ranks.* The largest standardised sum of the ranks of any part (Pettitt) [1]_, compared with random orders. It assumes
  no distribution, so one odd campaign is not a change.

p is the larger one. Parts follow circular binary segmentation [2]_: all ends of the series, and pieces in its
middle after which the earlier level returns. The part and the remainder are then divided in the same way.

References
----------
.. [1] A. N. Pettitt, A non-parametric approach to the change-point problem, Applied Statistics 28 (1979).
.. [2] A. B. Olshen, E. S. Venkatraman, R. Lucito, M. Wigler, Circular binary segmentation, Biostatistics 5 (2004).
.. [3] M. Robbins, C. Gallagher, R. Lund, A. Aue, Mean shift testing in correlated data, J. Time Series Analysis 32
   (2011): tests for a step with the dependence estimated beside it.
.. [4] G. E. P. Box, D. R. Cox, An analysis of transformations, J. Royal Statistical Society B 26 (1964).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.shift import blocks, midranks

SHORTEST = 2  # campaigns of each level
_DRAWN = 19_999  # random orders
_SEED = 20261122
_TOLERANCE = 1e-9
_LONGER = 1.25  # a piece in the middle than the next shorter one that is tried
_RHO = (0.0, 0.2, 0.4, 0.55, 0.7, 0.8, 0.88, 0.94)  # of the likelihoods
_BENT = (0.2, 1.0, 3.0)  # distances of a logarithm's zero from the least value, in mean distances
_MANY = 100  # campaigns; the least value of more lies nearer to the floor of the times, and so do the zeros
_TAIL = 3  # degrees of freedom of the Student distribution that prices the largest noise without a change
# values of the ratio that series without a change exceed with these chances, by length; they do not fall with it:
# bench/history.py --table
CHANCES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
RATIOS: dict[int, tuple[float, ...]] = {
    8: (8.05, 11.25, 13.32, 15.12, 17.13, 18.74, 20.09, 21.89, 23.37),
    12: (9.08, 12.05, 13.85, 15.54, 17.44, 18.93, 20.23, 22.15, 23.55),
    20: (9.45, 12.40, 14.23, 15.94, 18.24, 19.71, 21.14, 23.04, 25.02),
    35: (9.49, 12.40, 14.23, 15.94, 18.24, 20.07, 21.53, 23.39, 25.02),
    60: (9.64, 12.40, 14.23, 15.94, 18.24, 20.07, 21.53, 23.39, 25.02),
    100: (9.82, 12.40, 14.23, 15.94, 18.24, 20.07, 21.53, 23.39, 25.02),
    200: (10.37, 12.61, 14.23, 15.94, 18.24, 20.07, 21.53, 23.39, 25.02),
}

_Floats = NDArray[np.float64]
_Places = NDArray[np.intp]


@dataclass(frozen=True)
class Cut:
    """A part of a series with another level.

    Parameters
    ----------
    first, end : index of its first value, and of the first value after it (the length of the series if the level
        stays).
    p : probability of an equally clear part without a change.
    """

    first: int
    end: int
    p: float

    def moved(self, by: int) -> Cut:
        """Return the cut with its indices increased by an offset."""
        return replace(self, first=self.first + by, end=self.end + by)


@lru_cache(maxsize=256)
def _parts(n: int) -> tuple[_Places, _Places]:
    """Return first and end of every part that is tried: all ends of the series, and pieces of rising length."""
    parts = [(first, n) for first in range(SHORTEST, n - SHORTEST + 1)]
    length = SHORTEST
    while length <= n // 2:
        parts += [(first, first + length) for first in range(SHORTEST, n - SHORTEST - length + 1)]
        length = max(length + 1, round(length * _LONGER))
    first, end = np.array(parts, np.intp).T
    return first, end


def likelihood_ratio(series: _Floats) -> tuple[_Floats, _Places]:
    """Return twice the logarithm of the ratio of likelihoods of each row, (rows, n), and the best of `_parts`."""
    rows, n = series.shape
    first, end = _parts(n)
    inside, last = end < n, np.minimum(end, n - 1)
    without, best, where = np.full(rows, -np.inf), np.full(rows, -np.inf), np.zeros(rows, np.intp)
    for (x, jacobian), rho in product(_transformed(series), _RHO):
        # noise of each value, of the constant, and of a part: 1 where it begins, 1 - ρ inside, -ρ where it is over
        noise = np.concatenate([np.sqrt(1 - rho**2) * x[:, :1], x[:, 1:] - rho * x[:, :-1]], axis=1)
        one = np.full(n, 1 - rho)
        one[0] = np.sqrt(1 - rho**2)
        noise -= np.outer(noise @ one / (one @ one), one)

        def of_part(values: _Floats, rho: float = rho) -> _Floats:
            sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)
            middle = (1 - rho) * (sums[:, end] - sums[:, first + 1])
            return np.asarray(values[:, first] + middle - rho * values[:, last] * inside)

        length = 1 + (1 - rho) ** 2 * (end - first - 1) + rho**2 * inside - of_part(one[None])[0] ** 2 / (one @ one)
        less = of_part(noise) ** 2 / length
        squares, part = (noise**2).sum(axis=1), less.argmax(axis=1)
        rest = np.maximum(squares - less[np.arange(rows), part], squares * _TOLERANCE)
        constant = np.log(1 - rho**2) + jacobian
        shock = (noise**2).max(axis=1)
        others = np.maximum(squares - shock, squares * _TOLERANCE)
        price = (_TAIL + 1) * np.log1p(n * shock / others / _TAIL)
        without = np.maximum(without, constant - np.minimum(n * np.log(squares), n * np.log(others) + price))
        here = constant - n * np.log(rest)
        where, best = np.where(here > best, part, where), np.maximum(here, best)
    return best - without, where


def _transformed(series: _Floats) -> Iterator[tuple[_Floats, _Floats]]:
    """Yield rows unchanged, and made symmetric by logarithms of the distance from their least or largest value.

    Each comes with twice the logarithm of its Jacobian, so that the likelihoods compare.
    """
    x = (series - series.mean(axis=1, keepdims=True)) / series.std(axis=1, keepdims=True)
    yield x, np.zeros(len(x))
    for sign in (1, -1):
        above = sign * x - (sign * x).min(axis=1, keepdims=True)
        nearer = min(1.0, _MANY / x.shape[1])
        for part in _BENT:
            bent = np.log(above + part * nearer * above.mean(axis=1, keepdims=True))
            yield bent - bent.mean(axis=1, keepdims=True), -2 * bent.sum(axis=1)


def _dependent_p(n: int, ratio: float) -> float:
    """Return the chance of so large a ratio in autoregressive series, extended beyond the table as its last decade."""
    lengths = sorted(RATIOS)
    at = [np.interp(np.log(n), np.log(lengths), column) for column in zip(*(RATIOS[k] for k in lengths), strict=True)]
    chances = np.log(CHANCES)
    if ratio > at[-1]:
        decade = CHANCES.index(0.01)
        return float(np.exp(chances[-1] + (ratio - at[-1]) * (chances[-1] - chances[decade]) / (at[-1] - at[decade])))
    return float(np.exp(np.interp(ratio, at, chances))) if ratio >= at[0] else 1.0


def _largest(ranks: _Floats) -> _Floats:
    """Return the largest standardised rank sum of any part of each row, (orders, n)."""
    n = ranks.shape[1]
    first, end = _parts(n)
    sums = np.concatenate([np.zeros((len(ranks), 1)), np.cumsum(ranks, axis=1)], axis=1)
    length = end - first
    scale = np.sqrt(length * (n - length) * (n + 1) / 12)
    return np.asarray((np.abs(sums[:, end] - sums[:, first] - length * (n + 1) / 2) / scale).max(axis=1))


@lru_cache(maxsize=256)
def _null(n: int) -> _Floats:
    """Return the largest rank sums of random orders of n distinct values, sorted."""
    chance, ranks = np.random.default_rng(_SEED), np.arange(1.0, n + 1)
    size = len(_parts(n)[0])
    parts = [_largest(chance.permuted(np.tile(ranks, (count, 1)), axis=1)) for count in blocks(_DRAWN, size)]
    return np.sort(np.concatenate(parts))


def change(values: ArrayLike, chance: float = 1.0) -> Cut | None:
    """Return the likeliest change; None for fewer than four values, and for values that are all equal.

    Parameters
    ----------
    values : (campaigns,), in the order of time.
    chance : largest p of a wanted change; None for no limit.

    Notes
    -----
    The orders are drawn with a fixed seed, and the one observed counts as drawn, so that the test keeps its level. Ties
    make p larger. If not all values are above 0, the logarithms are not used.

    Examples
    --------
    >>> cut = change([1.0, 1.1, 0.9, 1.2, 1.05, 0.95, 2.0, 2.2, 2.1, 1.9, 2.05, 2.1])
    >>> cut.first, cut.end, cut.p < 0.05
    (6, 12, True)
    """
    array = np.ravel(np.asarray(values, np.float64))
    n = array.size
    if n < 2 * SHORTEST or np.ptp(array) == 0:
        return None
    p = _rank_p(array)
    if p > chance:  # saves the likelihoods, which take longer
        return None
    ratio, part = likelihood_ratio(array[None])
    first, end = (int(places[part[0]]) for places in _parts(n))
    p = max(p, _dependent_p(n, float(ratio[0])))
    return Cut(first, end, p) if p <= chance else None


def _rank_p(values: NDArray[Any]) -> float:
    """Return the chance of so large a rank sum in a random order."""
    null = _null(len(values))
    (observed,) = _largest(midranks(values)[None])
    beyond = len(null) - int(np.searchsorted(null, observed * (1 - _TOLERANCE), side="left"))
    return (beyond + 1) / (len(null) + 1)


def changes(values: ArrayLike, chance: float) -> list[Cut]:
    """Return all changes, in the order of time.

    Parameters
    ----------
    values : (campaigns,), in the order of time.
    chance : probability that a series without a change is cut.
    """
    array = np.ravel(np.asarray(values, np.float64))
    cut = change(array, chance)
    if cut is None:
        return []
    first, end = cut.first, cut.end
    inside = [inner.moved(first) for inner in changes(array[first:end], chance)]
    outside = [_around(one, cut) for one in changes(np.delete(array, np.s_[first:end]), chance)]
    return sorted([cut, *inside, *outside], key=lambda one: one.first)


def _around(cut: Cut, part: Cut) -> Cut:
    """Return the cut of a series without a part with its places in the whole series."""
    length = part.end - part.first
    first = cut.first + (length if cut.first >= part.first else 0)
    return replace(cut, first=first, end=cut.end + (length if cut.end > part.first else 0))


@lru_cache(maxsize=256)
def needed(chance: float) -> int:
    """Return the fewest campaigns with which a change can reach this p; 0 if no number suffices.

    Examples
    --------
    >>> needed(0.05), needed(0.01)
    (10, 12)
    """
    if chance * (_DRAWN + 1) < 1:  # p is never below the share of one order among those drawn
        return 0
    n = 2 * SHORTEST
    while _rank_p(np.arange(n)) > chance:  # to ranks, a step in the middle is no clearer than a steady rise
        n += 1
    return n
