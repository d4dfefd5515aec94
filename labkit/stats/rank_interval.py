"""The two of n sorted samples that enclose a quantile, from the binomial distribution alone.

Iterations of a launch depend on each other. `effective` estimates the equivalent number of independent iterations, and
`wider` widens the interval of the median accordingly.

References
----------
.. [1] T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC15, doi 10.1145/2807591.2807644.
.. [2] J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, EPFL Press 2010, ch. 2.
.. [3] R. W. Conway, Some Tactical Problems in Digital Simulation, Management Science 10 (1), 1963 (batch means).
.. [4] B. Schmeiser, Batch Size Effects in the Analysis of Simulation Output, Operations Research 30 (3), 1982.
.. [5] P. Heidelberger, P. A. W. Lewis, Quantile Estimation in Dependent Sequences, Operations Research 32 (1), 1984.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.stats.lists import Lists

LEVEL = 0.95
BATCHES = 10  # of the iterations of a launch
FEWEST = 3 * BATCHES  # iterations from which on their dependence is estimated
DEPENDENT = 0.1  # of the iterations: if they are worth less, a warning says so
_STUDENT = (1.959964 / 2.262157) ** 2  # normal over Student quantile with BATCHES - 1 degrees of freedom, squared
_EXACT = 500  # n·min(q, 1−q) up to which binomial ranks are summed exactly; 0.5**1000 is still a normal float


def _binomial_ranks(n: int, r: float, tail: float) -> tuple[int, int]:
    """Equal-tailed ranks of the r-quantile for r <= 1/2: P(B < low) <= tail and P(B < high) >= 1 - tail."""
    probability = (1 - r) ** n
    cumulative, low = 0.0, 0
    for k in range(n + 1):
        cumulative += probability
        if cumulative <= tail:
            low = k + 1
        if cumulative >= 1 - tail:
            return low, k + 1
        probability *= (n - k) / (k + 1) * r / (1 - r)
    return low, n + 1


@lru_cache(maxsize=4096)
def ranks(n: int, q: float = 0.5, level: float = LEVEL) -> tuple[int, int] | None:
    """Return which two of n sorted samples enclose the q-quantile with at least this confidence.

    Parameters
    ----------
    n : samples.
    q : quantile, inside (0, 1).
    level : confidence, inside (0, 1).

    Returns
    -------
    Ranks counted from 1, or None when even the smallest and largest sample are not enough: below 6 samples for
    the median at 95 %.

    Notes
    -----
    Exact binomial, equal tails, while n·min(q, 1−q) <= 500; the normal approximation of [1]_ and [2]_ above:
    ⌊nq − z√(nq(1−q))⌋ and ⌈nq + z√(nq(1−q))⌉ + 1.

    Examples
    --------
    >>> ranks(5), ranks(6), ranks(100)
    (None, (1, 6), (40, 61))
    """
    if not (0 < q < 1 and 0 < level < 1):
        raise DataError(f"q={q}, level={level}, but both must lie between 0 and 1.")
    tail = (1 - level) / 2
    if n * min(q, 1 - q) <= _EXACT:
        low, high = _binomial_ranks(n, min(q, 1 - q), tail)
        if q > 0.5:
            low, high = n + 1 - high, n + 1 - low
    else:
        from statistics import NormalDist  # inside the function: a rank imports this module and should open few files

        half = -NormalDist().inv_cdf(tail) * math.sqrt(n * q * (1 - q))
        low, high = math.floor(n * q - half), math.ceil(n * q + half) + 1
    return (low, high) if low >= 1 and high <= n else None


def effective(launches: Lists, medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the equivalent number of independent iterations for the median of each launch.

    Parameters
    ----------
    launches : iterations of each, in the order in which they ran.
    medians : (launches,), of each.

    Returns
    -------
    (launches,), from about 7 to n; n itself below 30 iterations, which are too few to estimate it.

    Notes
    -----
    Batch means [3]_ of whether an iteration is above or below the median, on which the interval of a quantile depends
    [5]_. If batches scatter k times as much (as a variance) as independent iterations would, n iterations are worth
    n / k. There are ten long batches, as [4]_ recommends for an unknown dependence. The squared ratio of Student's to
    the normal quantile accounts for their small number.

    Examples
    --------
    >>> steps = Lists.of([np.repeat(np.arange(20.0) % 7, 50)])
    >>> int(effective(steps, np.array([3.0]))[0])
    8
    """
    n, centre = launches.counts, np.repeat(medians, launches.counts)
    side = np.zeros(len(centre) + 1, np.int8)  # one more, for a batch that begins at the end
    np.subtract((launches.values > centre).view(np.int8), (launches.values < centre).view(np.int8), out=side[:-1])
    length = n // BATCHES
    edges = launches.starts[:-1, None] + length[:, None] * np.arange(BATCHES + 1)
    sums = np.add.reduceat(side, edges.ravel(), dtype=np.int64).reshape(-1, BATCHES + 1)
    batches, rest = sums[:, :BATCHES], np.where(n % BATCHES, sums[:, BATCHES], 0)
    apart = np.add.reduceat(side != 0, launches.starts[:-1], dtype=np.int64)  # iterations that are not the median
    variance = apart / n - ((batches.sum(axis=1) + rest) / n) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        between = batches.var(axis=1, ddof=1) / length
        worth = np.minimum(n * _STUDENT * variance / between, n)
    return np.where((n >= FEWEST) & (between > 0), worth, n)


def wider(counts: NDArray[np.int64], worth: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which sorted iterations of each launch enclose its median, from the number that `effective` returns.

    The distance of both ranks from the middle grows with the root of the count over that number.

    Returns
    -------
    Ranks counted from 1, (launches,) each; 0 without one.
    """
    known, of = np.unique(counts, return_inverse=True)
    first = np.array([(ranks(n) or (0, 0))[0] for n in known.tolist()], np.intp)[of]
    middle = (counts + 1) / 2
    low = np.maximum(np.floor(middle - (middle - first) * np.sqrt(counts / worth)), 1).astype(np.intp)
    return np.where(first, low, 0), np.where(first, counts + 1 - low, 0)
