"""Lists of numbers of different lengths in one array, and statistics of all lists at once.

Launches differ in their numbers of iterations. Neighbouring lists of equal length are sorted and summed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of numbers.

    Parameters
    ----------
    values : (values,), or (rows, values) of several numbers at each place.
    starts : (lists + 1,), where each list begins; the last entry is the end.
    """

    values: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[ArrayLike] | NDArray[Any]) -> Lists:
        """Return rows as lists."""
        parts = [np.asarray(row) for row in rows]
        return cls(np.concatenate(parts) if parts else np.empty(0), begins([*map(len, parts)]))

    def __len__(self) -> int:
        """Number of lists."""
        return len(self.starts) - 1

    def __getitem__(self, place: int) -> NDArray[Any]:
        """Return a list."""
        return self.values[..., self.starts[place] : self.starts[place + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield each list."""
        return (self.values[..., begin:end] for begin, end in pairwise(self.starts.tolist()))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Length of each list, (lists,)."""
        return np.diff(self.starts)

    def alike(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield neighbours of equal length: which lists they are, and their values, (lists, length)."""
        edges = [0, *(np.flatnonzero(np.diff(self.counts)) + 1).tolist(), len(self)]
        lengths = self.counts.tolist()
        for first, end in pairwise(edges) if len(self) else ():
            begin = int(self.starts[first])
            length = lengths[first]
            yield slice(first, end), self.values[begin : begin + (end - first) * length].reshape(end - first, length)

    def sorted(self) -> Lists:
        """Return the lists with the values of each in ascending order."""
        ordered = Lists(self.values.copy(), self.starts)
        for _, rows in ordered.alike():
            rows.sort(axis=1)
        return ordered

    def sums(self) -> NDArray[Any]:
        """Return the sum of each list, (lists,), as exact as the sum of a row of an array."""
        out = np.zeros(len(self), self.values.dtype)
        for places, rows in self.alike():
            out[places] = rows.sum(axis=1)
        return out

    def any(self) -> NDArray[np.bool_]:
        """Return whether a value of each list is true, (lists,); no list is empty."""
        return np.asarray(np.logical_or.reduceat(self.values, self.starts[:-1]))

    def at(self, places: NDArray[np.intp]) -> NDArray[Any]:
        """Return the value at a place of each list, (lists,); or at several, (lists, places)."""
        begins = self.starts[:-1]
        return np.asarray(self.values[begins.reshape(-1, *[1] * (places.ndim - 1)) + places])

    def medians(self) -> NDArray[np.float64]:
        """Return the median of each sorted list, (lists,)."""
        return np.asarray((self.at((self.counts - 1) // 2) + self.at(self.counts // 2)) / 2)

    def chosen(self, places: NDArray[np.intp]) -> Lists:
        """Return some of the lists."""
        if len(places) == len(self):
            return self
        mask = np.zeros(len(self), bool)
        mask[places] = True
        return Lists(self.values[..., np.repeat(mask, self.counts)], begins(self.counts[mask]))

    def cut(self, lengths: NDArray[np.int64]) -> Lists:
        """Return the lists cut into parts.

        Parameters
        ----------
        lengths : (lists, parts), which add up to the lengths of the lists.
        """
        return Lists(self.values, self.starts[0] + begins(lengths.ravel()))


def begins(lengths: ArrayLike) -> NDArray[np.int64]:
    """Return the starts of lists of these lengths, and the end, (lists + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
