"""Two modes of a sample: most values lie around two places with a valley between them.

The sample is cut in two where the parts vary least inside, on a scale of logarithms (Otsu's threshold) [1]_. Two parts
are two modes only if few values lie between them: a sample with one broad hill is cut as well, but has no valley.

References
----------
.. [1] N. Otsu, A threshold selection method from gray-level histograms, IEEE Trans. Syst. Man Cybern. 9 (1979).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.lists import Lists

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
    share : share of the values in the upper part, inside (0, 1).
    """

    low: float
    high: float
    share: float


def two_modes(values: Lists) -> dict[int, Modes]:
    """Return the two modes of each launch that has two: place → modes.

    A launch is left out if it has one mode or too few values, or if the clock is too coarse.

    Parameters
    ----------
    values : values of the iterations of each launch, above 0.

    Examples
    --------
    >>> chance = np.random.default_rng(1)
    >>> fast, slow = chance.normal(1.0, 0.05, 700), chance.normal(2.0, 0.1, 300)
    >>> found = two_modes(Lists.of([chance.lognormal(0, 0.5, 1000), np.concatenate([fast, slow])]))
    >>> [(row, round(modes.low, 1), round(modes.high, 1), round(modes.share, 1)) for row, modes in found.items()]
    [(1, 1.0, 2.0, 0.3)]
    """
    enough = np.flatnonzero(values.counts >= MIN_VALUES)
    ordered = values.chosen(enough).sorted()
    cut = _cut(ordered.counts)
    size = ordered.counts - 2 * cut
    # the medians of two parts that are large enough lie between these places, so most launches need no further look
    first = cut + np.maximum(0, (size * SHARE / 2).astype(np.intp) - 1)
    last = cut + np.minimum(size - 1, np.ceil(size * (1 - SHARE / 2)).astype(np.intp))
    wide = ordered.at(last) >= ordered.at(first) * (APART * (1 - 1e-9))
    likely = np.flatnonzero((ordered.at(0 * cut) > 0) & wide)
    some = ordered.chosen(likely)
    order = np.argsort(some.counts, kind="stable")  # equal lengths are processed together
    edges = np.flatnonzero(np.diff(some.counts[order])) + 1
    found: dict[int, Modes] = {}
    for group in np.split(order, edges) if len(order) else ():
        step = max(1, _BLOCK // int(some.counts[group[0]]))
        for begin in range(0, len(group), step):
            places = group[begin : begin + step]
            rows = np.stack([some[place] for place in places.tolist()])
            found |= {int(enough[likely[places[row]]]): modes for row, modes in _of_block(rows)}
    return dict(sorted(found.items()))


def _cut(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Number of values at each end that cannot make a mode."""
    return (counts * _TRIMMED).astype(np.intp)


def _of_block(rows: NDArray[np.float64]) -> Iterator[tuple[int, Modes]]:
    """Yield the launches of a block with two modes; `rows` are sorted."""
    iterations = rows.shape[1]
    cut = int(_cut(np.array(iterations)))
    size, kept = iterations - 2 * cut, np.arange(len(rows))
    logs = np.log(rows[:, cut : iterations - cut])
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
