"""Launches as columns: their records, the metadata behind them, and the times of their iterations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import records
from labkit.samples import Samples
from labkit.samples.facts import FINGERPRINT, LIBRARY
from labkit.spec import Spec

_TOGETHER = 1 << 20  # iterations of launches that are in memory together


@dataclass(frozen=True, eq=False)
class Times:
    """Launches of one benchmark with equally many iterations.

    Parameters
    ----------
    rows : (launches,), of the records.
    samples : of each.
    """

    rows: NDArray[np.intp]
    samples: Sequence[Samples]

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Time of each iteration as its benchmark defines it, (launches, iterations), s."""
        return np.array([records.seconds(one) for one in self.samples])

    def values(self, metric: str) -> NDArray[np.float64]:
        """Metric of each iteration, (launches, iterations), in its unit."""
        return np.array([records.values(one, metric) for one in self.samples])

    def each(self) -> Iterator[Samples]:
        """Yield each launch as an object of its own."""
        yield from self.samples


class Launches:
    """Launches, in the order of their records: benchmark, size, fingerprint, launch.

    Parameters
    ----------
    read : yields the samples.
    table : their records; computed from the samples if left out.
    """

    def __init__(self, read: Callable[[], Iterable[Samples]], table: pd.DataFrame | None = None) -> None:
        self._read = read
        points: list[Samples] = []

        def each() -> Iterator[Samples]:
            for one in read():
                points.append(replace(one, time_ns=np.empty((0, 0), np.int64), extras={}, over=None))
                yield one

        if table is None:
            table = records.table(each())
        else:
            deque(each(), maxlen=0)
        self.records = table
        self.kinds = tuple(sorted(points, key=_name))
        self.kind = np.arange(len(points))
        self._rows = {_name(one): row for row, one in enumerate(self.kinds)}

    def spec(self, row: int) -> Spec:
        """Return the spec of a row of the records."""
        return self.kinds[row].spec

    def described(self, row: int) -> Samples:
        """Return the metadata of a launch with its number of iterations, but without their times."""
        n = int(self.records["n"].iloc[row])
        return replace(self.kinds[row], time_ns=np.empty((0, n), np.int64))

    def times(self) -> Iterator[Times]:
        """Yield the times of all launches; read anew with each call."""
        waiting: dict[tuple[str, int], list[Samples]] = {}
        for one in self._read():
            if _name(one) in self._rows:  # a run may have added others since
                alike = waiting.setdefault((one.spec.benchmark, one.n), [])
                alike.append(one)
                if len(alike) * one.n > _TOGETHER:
                    yield self._times(waiting.pop((one.spec.benchmark, one.n)))
        yield from map(self._times, waiting.values())

    def _times(self, alike: Sequence[Samples]) -> Times:
        return Times(np.array([self._rows[_name(one)] for one in alike], np.intp), alike)


def _name(one: Samples) -> tuple[str, int, str, int]:
    """Return what records are sorted by."""
    brand = {"library": LIBRARY.of(one.meta), "cpu_model": str(one.host.get("cpu_model") or "")}
    fingerprint = str(FINGERPRINT.of(one.meta) or one.spec.fingerprint(brand))
    return one.spec.benchmark, one.spec.size, fingerprint, one.launch


def of(samples: Sequence[Samples], table: pd.DataFrame | None = None) -> Launches:
    """Return samples as launches.

    Parameters
    ----------
    table : their records, if they are known.
    """
    return Launches(lambda: samples, table)
