"""Two modes of a sample: most values lie around two places with a valley between them.

The sample is cut in two where the parts vary least inside, on a scale of logarithms (Otsu's threshold) [1]_. Two parts
are two modes only if few values lie between them: a sample with one broad hill is cut as well, but has no valley.

References
----------
.. [1] N. Otsu, A threshold selection method from gray-level histograms, IEEE Trans. Syst. Man Cybern. 9 (1979).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_VALUES = 100  # values
SHARE = 0.1  # of the values that the smaller mode holds at least
APART = 1.25  # times that the modes are apart at least
_TRIMMED = 0.02  # of the values at each end that cannot make a mode
_VALLEY = 0.25  # of the lower hill's density that the valley has at most
_DISTINCT, _MOST = 6, 0.9  # so few values that hold so much of a sample are steps of the clock
_BLOCK = 1 << 16  # values that are looked at together: as many as a processor's cache holds


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


def two_modes(values: ArrayLike) -> dict[int, Modes]:
    """Return the two modes of each launch that has two: row → modes.

    A launch is left out if it has one mode or too few values, or if the clock is too coarse to tell.

    Parameters
    ----------
    values : (launches, iterations), above 0.

    Examples
    --------
    >>> chance = np.random.default_rng(1)
    >>> fast, slow = chance.normal(1.0, 0.05, 700), chance.normal(2.0, 0.1, 300)
    >>> found = two_modes([chance.lognormal(0, 0.5, 1000), np.concatenate([fast, slow])])
    >>> [(row, round(modes.low, 1), round(modes.high, 1), round(modes.share, 1)) for row, modes in found.items()]
    [(1, 1.0, 2.0, 0.3)]
    """
    array = np.asarray(values, np.float64)
    launches, iterations = array.shape
    if iterations < MIN_VALUES:
        return {}
    step = max(1, _BLOCK // iterations)
    blocks = ((first, np.sort(array[first : first + step], axis=1)) for first in range(0, launches, step))
    return {first + row: modes for first, block in blocks for row, modes in _of_block(block)}


def _of_block(rows: NDArray[np.float64]) -> Iterator[tuple[int, Modes]]:
    """Yield the launches of a block with two modes; `rows` are sorted."""
    iterations = rows.shape[1]
    cut = int(iterations * _TRIMMED)
    size = iterations - 2 * cut
    # the medians of two parts that are large enough lie between these places, so most launches need no further look
    ends = rows[:, [cut + max(0, int(size * SHARE / 2) - 1), cut + min(size - 1, math.ceil(size * (1 - SHARE / 2)))]]
    kept = np.flatnonzero((rows[:, 0] > 0) & (ends[:, 1] >= ends[:, 0] * (APART * (1 - 1e-9))))
    if not len(kept):
        return
    logs = np.log(rows[kept, cut : iterations - cut])
    count, total = np.arange(1, size), np.cumsum(logs, axis=1)
    left, right = total[:, :-1] / count, (total[:, -1:] - total[:, :-1]) / (size - count)
    place = np.argmax(count * (size - count) * (right - left) ** 2, axis=1) + 1
    low, high, share = _median(logs, 0, place), _median(logs, place, size), 1 - place / size

    def keep(which: NDArray[np.bool_]) -> None:
        nonlocal kept, logs, low, high, share
        kept, logs, low, high, share = kept[which], logs[which], low[which], high[which], share[which]

    keep((np.minimum(share, 1 - share) >= SHARE) & (high - low >= np.log(APART)))
    if not len(kept):
        return
    keep(_most_frequent(rows[kept]) < _MOST * iterations)
    width = (high - low) / 3

    def inside(middle: NDArray[np.float64]) -> NDArray[np.intp]:
        first, last = (middle - width / 2)[:, None], (middle + width / 2)[:, None]
        return np.asarray(((logs >= first) & (logs < last)).sum(axis=1))

    keep(inside((low + high) / 2) <= _VALLEY * np.minimum(inside(low), inside(high)))
    for row, *centres, part in zip(*(each.tolist() for each in (kept, low, high, share)), strict=True):
        lower, upper = (float(np.exp(centre)) for centre in centres)
        yield row, Modes(lower, upper, part)


def _median(rows: NDArray[np.float64], first: ArrayLike, end: ArrayLike) -> NDArray[np.float64]:
    """Median of the values of each sorted row from one place to before another."""
    places, last = np.arange(len(rows)), np.add(first, end) - 1
    return np.asarray((rows[places, last // 2] + rows[places, (last + 1) // 2]) / 2)


def _most_frequent(rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """How many values of each sorted row are one of its most frequent."""
    starts = np.ones(rows.shape, bool)
    starts[:, 1:] = (rows[:, 1:] != rows[:, :-1]) & ~np.isnan(rows[:, :-1])
    counts, places = np.zeros(rows.shape, np.intp), np.flatnonzero(starts)
    counts.flat[places] = np.diff(places, append=rows.size)
    counts.partition(-_DISTINCT, axis=1)
    return np.asarray(counts[:, -_DISTINCT:].sum(axis=1))
