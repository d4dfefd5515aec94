"""Change points of a series of campaigns: where the values move to another level and stay there.

The values are one per campaign, in the order of time, because launches of one campaign share their day. Each way to cut
the series in two is judged by the sum of the ranks before the cut (Pettitt) [1]_, standardised so that cuts near the
ends count as much as those in the middle. The largest of these is compared with what random orders of the campaigns
give. No distribution is assumed: without a change, every order is equally likely. Ranks say how sure the change is, but
not well where it is, because a value slightly above all before it counts as much as one far above. The place is the cut
whose two parts lie closest to their medians. Each part is then cut on in the same way, as E-divisive does [2]_.

References
----------
.. [1] A. N. Pettitt, A non-parametric approach to the change-point problem, Applied Statistics 28 (1979).
.. [2] D. S. Matteson, N. A. James, A nonparametric approach for multiple change point analysis of multivariate data,
   JASA 109 (2014).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.shift import blocks, midranks

SHORTEST = 2  # campaigns on each side of a change
_DRAWN = 39_999  # random orders
_SEED = 20261122
_TOLERANCE = 1e-9


def _largest(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest standardised rank sum of each row, (orders, n)."""
    n = ranks.shape[1]
    cuts = np.arange(SHORTEST, n - SHORTEST + 1)
    sums = np.cumsum(ranks, axis=1)[:, cuts - 1]
    scale = np.sqrt(cuts * (n - cuts) * (n + 1) / 12)
    far = np.abs(sums - cuts * (n + 1) / 2) / scale
    return np.asarray(far.max(axis=1))


def _place(values: NDArray[np.float64]) -> int:
    """Return the cut whose parts deviate least from their medians: in ratios, if all values are above 0."""
    heights = np.log(values) if (values > 0).all() else values
    cuts = range(SHORTEST, values.size - SHORTEST + 1)
    return min(cuts, key=lambda cut: sum(_spread(part) for part in (heights[:cut], heights[cut:])))


def _spread(values: NDArray[np.float64]) -> float:
    return float(np.abs(values - np.median(values)).sum())


@lru_cache(maxsize=256)
def _null(n: int) -> NDArray[np.float64]:
    """Return the largest statistic of random orders of n distinct values, sorted."""
    chance, ranks = np.random.default_rng(_SEED), np.arange(1.0, n + 1)
    parts = [_largest(chance.permuted(np.tile(ranks, (count, 1)), axis=1)) for count in blocks(_DRAWN, n)]
    return np.sort(np.concatenate(parts))


def change(values: ArrayLike) -> tuple[int, float]:
    """Return the place of the likeliest change, and its p.

    Parameters
    ----------
    values : (campaigns,), in the order of time.

    Returns
    -------
    Index of the first value after the change, and the chance of a change as clear in a random order. Index 0 and p = 1
    for fewer than four values, and for values that are all equal.

    Notes
    -----
    The orders are drawn with a fixed seed, and the one observed counts as drawn, so that the test keeps its level. Ties
    make p larger.

    Examples
    --------
    >>> place, p = change([1.0, 1.1, 0.9, 1.2, 1.05, 2.0, 2.2, 2.1, 1.9, 2.05])
    >>> place, p < 0.01
    (5, True)
    """
    array = np.ravel(np.asarray(values, np.float64))
    if array.size < 2 * SHORTEST or np.ptp(array) == 0:
        return 0, 1.0
    (observed,) = _largest(midranks(array)[None])
    null = _null(array.size)
    beyond = len(null) - int(np.searchsorted(null, observed * (1 - _TOLERANCE), side="left"))
    return _place(array), (beyond + 1) / (len(null) + 1)


def changes(values: ArrayLike, chance: float) -> list[tuple[int, float]]:
    """Return the places of all changes with their p, in the order of time.

    Parameters
    ----------
    values : (campaigns,), in the order of time.
    chance : that a series without a change is cut.
    """
    array = np.ravel(np.asarray(values, np.float64))
    place, p = change(array)
    if p > chance:
        return []
    before = changes(array[:place], chance)
    after = [(place + later, q) for later, q in changes(array[place:], chance)]
    return [*before, (place, p), *after]


@lru_cache(maxsize=256)
def needed(chance: float) -> int:
    """Return how many campaigns a change needs at least: with fewer, no order has so small a p; 0 if none suffices.

    Examples
    --------
    >>> needed(0.05), needed(0.01)
    (8, 10)
    """
    if chance * (_DRAWN + 1) < 1:  # p is never below the share of one order among those drawn
        return 0
    n = 2 * SHORTEST
    while change(np.arange(n))[1] > chance:  # to ranks, a step in the middle is no clearer than a steady rise
        n += 1
    return n
