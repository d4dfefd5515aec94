"""Two modes of a sample: most values lie around two places with a valley between them.

The sample is cut in two where the parts vary least inside, on a scale of logarithms (Otsu's threshold) [1]_. Two parts
are two modes only if few values lie between them: a sample with one broad hill is cut as well, but has no valley.

References
----------
.. [1] N. Otsu, A threshold selection method from gray-level histograms, IEEE Trans. Syst. Man Cybern. 9 (1979).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

FEWEST = 100  # values
SHARE = 0.1  # of the values that the smaller mode holds at least
APART = 1.25  # times that the modes are apart at least
_TRIMMED = 0.02  # of the values at each end that cannot make a mode
_VALLEY = 0.25  # of the lower hill's density that the valley has at most
_DISTINCT, _MOST = 6, 0.9  # so few values that hold so much of a sample are steps of the clock


@dataclass(frozen=True)
class Modes:
    """Two places around which the values of a sample lie.

    Parameters
    ----------
    low, high : medians of the two parts, in the unit of the values.
    share : of the values in the upper part, inside (0, 1).
    """

    low: float
    high: float
    share: float


def two_modes(values: ArrayLike) -> Modes | None:
    """Return the two modes of a sample; None if it has one, too few values, or the clock is too coarse to tell.

    Parameters
    ----------
    values : (n,), above 0.

    Examples
    --------
    >>> chance = np.random.default_rng(1)
    >>> fast, slow = chance.normal(1.0, 0.05, 700), chance.normal(2.0, 0.1, 300)
    >>> modes = two_modes(np.concatenate([fast, slow]))
    >>> round(modes.low, 1), round(modes.high, 1), round(modes.share, 1)
    (1.0, 2.0, 0.3)
    >>> two_modes(chance.lognormal(0, 0.5, 1000)) is None
    True
    """
    array = np.sort(np.asarray(values, np.float64).ravel())
    if array.size < FEWEST or not array[0] > 0:
        return None
    cut = int(array.size * _TRIMMED)
    logs = np.log(array[cut : array.size - cut])
    count, total = np.arange(1, logs.size), np.cumsum(logs)
    left, right = total[:-1] / count, (total[-1] - total[:-1]) / (logs.size - count)
    place = int(np.argmax(count * (logs.size - count) * (right - left) ** 2)) + 1
    low, high = float(np.median(logs[:place])), float(np.median(logs[place:]))
    share = 1 - place / logs.size
    if min(share, 1 - share) < SHARE or high - low < np.log(APART):
        return None
    if np.sort(np.unique(array, return_counts=True)[1])[: -_DISTINCT - 1 : -1].sum() >= _MOST * array.size:
        return None
    width = (high - low) / 3

    def inside(middle: float) -> int:
        first, last = np.searchsorted(logs, (middle - width / 2, middle + width / 2))
        return int(last - first)

    if inside((low + high) / 2) > _VALLEY * min(inside(low), inside(high)):
        return None
    return Modes(float(np.exp(low)), float(np.exp(high)), share)
