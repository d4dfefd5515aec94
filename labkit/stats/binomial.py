"""The upper tail of the binomial distribution, for any number of trials."""

from __future__ import annotations

import math

import numpy as np


def at_least(count: int, n: int, p: float) -> float:
    """Return the probability of `count` or more of n independent events of probability p each.

    The terms are summed as logarithms, because binomial coefficients exceed a float from 1030 trials on.

    Parameters
    ----------
    p : strictly between 0 and 1.

    Examples
    --------
    >>> round(at_least(2, 3, 0.5), 12), at_least(0, 3, 0.5), at_least(4, 3, 0.5)
    (0.5, 1.0, 0.0)
    """
    if count <= 0:
        return 1.0
    if count > n:
        return 0.0
    k = np.arange(count, n + 1)
    # log of each term divided by the one before: (n - k + 1) / k · p / (1 - p)
    steps = np.log((n - k[1:] + 1) / k[1:]) + math.log(p / (1 - p))
    first = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    first += count * math.log(p) + (n - count) * math.log1p(-p)
    logs = first + np.concatenate([[0.0], np.cumsum(steps)])
    highest = float(logs.max())
    return min(1.0, math.exp(highest + math.log(float(np.exp(logs - highest).sum()))))
