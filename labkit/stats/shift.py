"""Rank tests and shifts between groups of launches. Pure functions over few independent values, exact for small groups.

No test here assumes a distribution. Each counts how often a random assignment of the values to the groups gives at
least the observed difference, including ties. Groups are launches, never iterations.

References
----------
.. [1] M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods, Wiley 2014, ch. 4, 6 and 8.
.. [2] S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).
.. [3] B. Phipson, G. K. Smyth, Permutation P-values should never be zero, Stat. Appl. Genet. Mol. Biol. 9 (2010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.rank_interval import LEVEL

EXACT = 2500  # pairs of values up to which the distribution of the rank sum is counted out: 50 launches per side
EXACT_SIGNED = 100  # differences up to which the distribution of the signed rank sum is counted out
EXACT_TREND = 100  # largest number of values for which the exact distribution of Kendall's tau is used
_ALL = 40_000  # arrangements of several groups that are all looked at; of more, as many as follows are drawn
_DRAWN = 99_999
_SEED = 20261122
_BLOCK = 1_000_000  # numbers drawn at once, in random orders
_TOLERANCE = 1e-9  # relative: sums of ranks are compared as floats


def midranks(values: ArrayLike) -> NDArray[np.float64]:
    """Rank of each value from 1; equal values share their mean rank.

    Examples
    --------
    >>> midranks([3.0, 1.0, 3.0]).tolist()
    [2.5, 1.0, 2.5]
    """
    ranks: NDArray[np.float64] = midranks_of(np.asarray(values, np.float64)[None])[0]
    return ranks


def midranks_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """`midranks` of each row, (rows, values) → (rows, values)."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered, places = np.take_along_axis(rows, order, axis=1), np.arange(rows.shape[1])
    new = np.ones(rows.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    last = np.ones(rows.shape, bool)
    last[:, :-1] = new[:, 1:]
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    final = np.minimum.accumulate(np.where(last, places, rows.shape[1])[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, (first + final) / 2 + 1, axis=1)
    return ranks


@lru_cache(maxsize=1024)
def _sums(doubled: tuple[int, ...], chosen: int) -> NDArray[np.float64]:
    """Return the probability of every sum of ``chosen`` of the doubled ranks, drawn without replacement."""
    ways = np.zeros((chosen + 1, sum(sorted(doubled)[-chosen:]) + 1))
    ways[0, 0] = 1
    for rank in doubled:
        for count in range(chosen, 0, -1):
            ways[count, rank:] += ways[count - 1, : ways.shape[1] - rank]
    return np.asarray(ways[chosen] / ways[chosen].sum())


def rank_sum_p(first: ArrayLike, second: ArrayLike) -> float:
    """Two-sided p of the Mann-Whitney test: exact, ties included, up to `EXACT` pairs; else its normal approximation.

    Examples
    --------
    >>> round(rank_sum_p([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]) * 924, 6)
    2.0
    """
    one, other = np.ravel(np.asarray(first, np.float64)), np.ravel(np.asarray(second, np.float64))
    return float(rank_sum_ps(one[None], other[None])[0])


def rank_sum_ps(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """`rank_sum_p` of each row, (rows, n) and (rows, m) → (rows,)."""
    if first.shape[1] > second.shape[1]:  # symmetric; the table of the smaller side is smaller
        first, second = second, first
    n, m = first.shape[1], second.shape[1]
    ranks = midranks_of(np.concatenate([first, second], axis=1))
    if n * m > EXACT:
        return np.array([_by_normal(row, n, m) for row in ranks])
    doubled = np.rint(2 * ranks).astype(int)
    sums, places = np.unique(
        np.column_stack([doubled[:, :n].sum(axis=1), np.sort(doubled, axis=1)]), axis=0, return_inverse=True
    )
    return np.array([_exactly(tuple(row[1:]), n, row[0]) for row in sums.tolist()], np.float64)[places.ravel()]


def rank_sums_above(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """One-sided p that the second values of each row are larger than the first, (rows, n) and (rows, m) → (rows,).

    Exact, ties included, up to `EXACT` pairs; else the normal approximation.
    """
    n, m = first.shape[1], second.shape[1]
    ranks = midranks_of(np.concatenate([first, second], axis=1))
    if n * m > EXACT:
        twice = np.array([_by_normal(row, n, m) for row in ranks])
        return np.where(ranks[:, :n].sum(axis=1) <= n * (n + m + 1) / 2, twice / 2, 1 - twice / 2)
    doubled = np.rint(2 * ranks).astype(int)
    sums, places = np.unique(
        np.column_stack([doubled[:, :n].sum(axis=1), np.sort(doubled, axis=1)]), axis=0, return_inverse=True
    )
    return np.array([_at_most(tuple(row[1:]), n, row[0]) for row in sums.tolist()], np.float64)[places.ravel()]


@lru_cache(maxsize=4096)
def _at_most(doubled: tuple[int, ...], n: int, observed: int) -> float:
    """Return the chance that n of the sorted, doubled ranks sum to at most the observed value."""
    return min(1.0, float(_sums(doubled, n)[: observed + 1].sum()))


@lru_cache(maxsize=4096)
def _exactly(doubled: tuple[int, ...], n: int, observed: int) -> float:
    """Return the p of a sum of n of the doubled ranks, which are sorted."""
    probability, expected = _sums(doubled, n), n * (len(doubled) + 1)
    far = np.abs(np.arange(len(probability)) - expected) >= abs(observed - expected)
    return min(1.0, float(probability[far].sum()))


def _by_normal(ranks: NDArray[np.float64], n: int, m: int) -> float:
    """Return the p of the sum of the first n of n + m ranks, by the normal approximation."""
    _, ties = np.unique(ranks, return_counts=True)
    total = n + m
    variance = n * m / 12 * (total + 1 - float((ties**3 - ties).sum()) / (total * (total - 1)))
    distance = abs(float(ranks[:n].sum()) - n * (total + 1) / 2) - 0.5
    if variance <= 0 or distance <= 0:
        return 1.0
    return math.erfc(distance / math.sqrt(2 * variance))


def signed_ranks_above(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """One-sided p of Wilcoxon's signed rank test that the differences of each row are above zero, (rows, n) → (rows,).

    Exact, ties included, up to `EXACT_SIGNED` differences; else the normal approximation. Differences of zero are left
    out.

    Examples
    --------
    >>> signed_ranks_above(np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])).tolist() == [1 / 64]
    True
    """
    zeros = (differences == 0).sum(axis=1, keepdims=True)
    ranks = np.maximum(midranks_of(np.abs(differences)) - zeros, 0) * (differences != 0)
    above = (ranks * (differences > 0)).sum(axis=1)
    if differences.shape[1] > EXACT_SIGNED:
        distance = above - ranks.sum(axis=1) / 2 - 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num(distance / np.sqrt((ranks**2).sum(axis=1) / 4))
        return np.array([math.erfc(one / math.sqrt(2)) / 2 for one in z.tolist()])
    doubled, observed = np.sort(np.rint(2 * ranks).astype(int), axis=1), np.rint(2 * above).astype(int)
    chances = (_signed_sums(tuple(row))[least:].sum() for row, least in zip(doubled.tolist(), observed, strict=True))
    return np.array([min(1.0, float(one)) for one in chances])


@lru_cache(maxsize=1024)
def _signed_sums(doubled: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the probability of every sum of the doubled ranks, if each counts with probability 1/2."""
    ways = np.ones(1)
    for rank in doubled:
        more = np.zeros(len(ways) + rank)
        more[: len(ways)] += ways / 2
        more[rank:] += ways / 2
        ways = more
    return ways


def paired_shifts(
    differences: NDArray[np.float64], level: float = LEVEL
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Hodges-Lehmann shift of each row of differences within pairs, and the ends of its interval, (rows,) each.

    The shift is the median of the means of any two differences, each with itself too. The interval contains the shifts
    that Wilcoxon's signed rank test does not reject; its ends are NaN below 6 differences at 95 %.

    Examples
    --------
    >>> [float(part[0]) for part in paired_shifts(np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))]
    [3.5, 1.0, 6.0]
    """
    n = differences.shape[1]
    one, other = np.triu_indices(n)
    means = np.sort((differences[:, one] + differences[:, other]) / 2, axis=1)
    place = _left_out_of_means(n, level)
    nothing = np.full(len(differences), math.nan)
    low, high = (means[:, place - 1], means[:, -place]) if place else (nothing, nothing)
    return np.asarray(np.median(means, axis=1)), low, high


@lru_cache(maxsize=1024)
def _left_out_of_means(n: int, level: float) -> int:
    """Return how many means of two differences the interval leaves out at each end, plus 1; 0 if none does."""
    tail = (1 - level) / 2
    if n <= EXACT_SIGNED:
        probability = _signed_sums(tuple(range(1, n + 1)))
        return int(np.searchsorted(np.cumsum(probability), tail * (1 + _TOLERANCE), side="right"))
    half = -NormalDist().inv_cdf(tail) * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(0, math.floor(n * (n + 1) / 4 - half))


def several_p(groups: Sequence[ArrayLike]) -> float:
    """P of the Kruskal-Wallis test that several groups are equal.

    Notes
    -----
    Up to 40,000 arrangements of the ranks are counted. Otherwise 99,999 are drawn with a fixed seed; the observed one
    counts as drawn, so the test keeps its level [3]_.
    """
    arrays = [np.ravel(np.asarray(group, np.float64)) for group in groups]
    ranks = midranks(np.concatenate(arrays))
    sizes = tuple(array.size for array in arrays)
    observed = _weight(ranks[None], sizes)[0]
    null, drawn = _arrangements(tuple(sorted(ranks.tolist())), sizes)
    beyond = len(null) - int(np.searchsorted(null, observed * (1 - _TOLERANCE), side="left"))
    return (beyond + drawn) / (len(null) + drawn)


def _weight(ranks: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Return the part of the Kruskal-Wallis statistic that depends on the arrangement, (arrangements, ranks)."""
    ends = np.cumsum(sizes)
    parts = [ranks[:, end - size : end].sum(axis=1) ** 2 / size for size, end in zip(sizes, ends, strict=True)]
    return np.asarray(sum(parts), np.float64)


@lru_cache(maxsize=64)
def _arrangements(ranks: tuple[float, ...], sizes: tuple[int, ...]) -> tuple[NDArray[np.float64], int]:
    """Return the statistic of all arrangements or of those drawn, sorted, and whether (1) they were drawn."""
    every = math.factorial(len(ranks)) // math.prod(math.factorial(size) for size in sizes)
    values = np.asarray(ranks)
    if every <= _ALL:
        rows = [values[list(row)] for row in _orders(tuple(range(len(ranks))), sizes)]
        return np.sort(_weight(np.array(rows), sizes)), 0
    chance, parts = np.random.default_rng(_SEED), []
    for count in blocks(_DRAWN, len(values)):
        # permuted shuffles each row by itself, shuffle would give all rows the same order
        parts.append(_weight(chance.permuted(np.tile(values, (count, 1)), axis=1), sizes))
    return np.sort(np.concatenate(parts)), 1


def blocks(rows: int, columns: int) -> Iterator[int]:
    """Yield numbers of rows that add up to `rows`, such that each block fits in memory."""
    most = max(1, _BLOCK // columns)
    for first in range(0, rows, most):
        yield min(most, rows - first)


def _orders(places: tuple[int, ...], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return every way to deal places to groups of these sizes."""
    if len(sizes) == 1:
        return [places]
    return [
        first + rest
        for first in combinations(places, sizes[0])
        for rest in _orders(tuple(place for place in places if place not in first), sizes[1:])
    ]


def holm(probabilities: Sequence[float], tests: int = 0) -> list[float]:
    """Adjust the p of several tests by Holm's method, which limits the chance of any false alarm; NaN stays NaN.

    Parameters
    ----------
    tests : number of the family, if it has more tests than are given; these count as the largest.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    >>> holm([0.01], tests=4)
    [0.04]
    """
    order = sorted((p, place) for place, p in enumerate(probabilities) if not math.isnan(p))
    adjusted, least = [math.nan] * len(probabilities), 0.0
    count = max(tests, len(order))
    for done, (p, place) in enumerate(order):
        least = max(least, min(1.0, p * (count - done)))
        adjusted[place] = least
    return adjusted


@lru_cache(maxsize=1024)
def _left_out(n: int, m: int, level: float) -> int:
    """Return how many differences the interval leaves out at each end, plus 1; 0 if none reaches the level."""
    tail = (1 - level) / 2
    n, m = sorted((n, m))  # symmetric; the table of the smaller side is smaller
    if n * m <= EXACT:
        probability = _sums(tuple(range(2, 2 * (n + m) + 1, 2)), n)[n * (n + 1) :: 2]
        return int(np.searchsorted(np.cumsum(probability), tail * (1 + _TOLERANCE), side="right"))
    half = -NormalDist().inv_cdf(tail) * math.sqrt(n * m * (n + m + 1) / 12)
    return max(0, math.floor(n * m / 2 - half))


def shift(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> tuple[float, float, float]:
    """Hodges-Lehmann shift from the first group to the second, and the ends of its interval.

    The shift is the median of all differences between a value of the second and one of the first. The interval
    contains the shifts that the Mann-Whitney test does not reject; its ends are NaN if there are too few values, such
    as 3 in each group at 95 %.

    Examples
    --------
    >>> shift([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0])
    (1.0, -2.0, 4.0)
    """
    one, other = np.ravel(np.asarray(first, np.float64)), np.ravel(np.asarray(second, np.float64))
    centre, low, high = (float(part[0]) for part in shifts(one[None], other[None], level))
    return centre, low, high


def shifts(
    first: NDArray[np.float64], second: NDArray[np.float64], level: float = LEVEL
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """`shift` of each row, (rows, n) and (rows, m) → (rows,) each."""
    count = first.shape[1] * second.shape[1]
    centre, low, high = (np.full(len(first), math.nan) for _ in range(3))
    place = _left_out(first.shape[1], second.shape[1], level)
    done = 0
    for rows in blocks(len(first), max(count, 1)):
        here = slice(done, done + rows)
        differences = np.sort((second[here, :, None] - first[here, None, :]).reshape(rows, count), axis=1)
        centre[here] = np.median(differences, axis=1)
        if place:
            low[here], high[here] = differences[:, place - 1], differences[:, -place]
        done += rows
    return centre, low, high


def trend(values: ArrayLike) -> tuple[float, float]:
    """Kendall's tau of values in the order of time, and its two-sided p; ties make the p cautious.

    The p is exact up to `EXACT_TREND` values and a normal approximation above.

    Examples
    --------
    >>> tau, p = trend([1, 2, 3, 4, 5, 6])
    >>> tau, round(p * 720, 6)
    (1.0, 2.0)
    """
    array = np.ravel(np.asarray(values, np.float64))
    tau, p = (float(part[0]) for part in trends(array[None]))
    return tau, p


def trends(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`trend` of each row, (rows, values) → (rows,) each."""
    n = rows.shape[1]
    if n < 2:
        return np.zeros(len(rows)), np.ones(len(rows))
    scores = np.zeros(len(rows), int)
    for k in range(1, n):
        scores += np.sign(rows[:, k, None] - rows[:, :k]).sum(axis=1).astype(int)
    known, places = np.unique(np.abs(scores), return_inverse=True)
    return scores / (n * (n - 1) // 2), np.array([_trend_p(n, score) for score in known.tolist()])[places]


@lru_cache(maxsize=4096)
def _trend_p(n: int, score: int) -> float:
    """Return the chance of a score of Kendall's test as far from zero, of n values."""
    if n > EXACT_TREND:
        distance = max(score - 1, 0) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        return math.erfc(distance / math.sqrt(2))
    ways = _orders_of_pairs(n)
    far = np.abs(n * (n - 1) // 2 - 2 * np.arange(len(ways))) >= score
    return min(1.0, float(ways[far].sum()))


@lru_cache(maxsize=EXACT_TREND)
def _orders_of_pairs(n: int) -> NDArray[np.float64]:
    """Return the probability of every number of pairs in order, of n values in random order."""
    ways = np.ones(1)
    for more in range(2, n + 1):
        ways = np.convolve(ways, np.ones(more) / more)  # places that the next value can take
    return ways


@lru_cache(maxsize=256)
def least_launches(tests: int, level: float = LEVEL, *, paired: bool = False) -> int:
    """Fewest launches per side with which one of several tests can show a difference after Holm's correction.

    Parameters
    ----------
    paired : whether the signed rank test of pairs decides.

    Examples
    --------
    >>> least_launches(1), least_launches(23), least_launches(24), least_launches(1, paired=True)
    (4, 6, 7, 6)
    """
    n = 2
    while 2 * tests > (1 - level) * (1 + _TOLERANCE) * (2**n if paired else math.comb(2 * n, n)):
        n += 1
    return n
