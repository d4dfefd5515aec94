"""The two of n sorted samples that enclose a quantile, from the binomial distribution alone.

References
----------
.. [1] T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC15, doi 10.1145/2807591.2807644.
.. [2] J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, EPFL Press 2010, ch. 2.
"""

from __future__ import annotations

import math
from functools import lru_cache

from labkit.errors import DataError

LEVEL = 0.95
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
