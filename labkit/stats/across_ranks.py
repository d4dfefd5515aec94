"""Extremes of the times of many ranks, kept in place of every time: over ranks, and over iterations.

The times of 4096 ranks in 10,000 iterations are 41 million. `OverRanks` holds, for each iteration, the slowest and the
fastest rank, the sum and the deciles over ranks, and which ranks were long; for each rank its extremes, median, sum,
how often it was the slowest, and a histogram of its times (`labkit.stats.histogram`). Everything but the quantiles of
the histogram is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from labkit.stats import histogram

Integers = NDArray[np.int64]
DECILES = tuple(f"p{percent}" for percent in range(10, 100, 10))
RUNS = ("long_1_start", "long_1_end", "long_2_start", "long_2_end")
PHASE = ("slowest", "fastest", "sum")  # of each iteration and phase, ns
OF_ITERATION = (*PHASE, "slowest_rank", "fastest_rank", *DECILES, "excess", *RUNS)  # of each iteration, in this order
OF_RANK = ("slowest_count", "p50", "min", "max")  # of each rank: iterations, ns
MANY = 3  # in `long_1_end`, with an empty first run: more than two runs


@dataclass(frozen=True)
class OverRanks:
    """Statistics of one point and launch over its ranks.

    Parameters
    ----------
    ranks : rank, or thread of a rank, of each place.
    of_iteration : `OF_ITERATION` → (iterations,) int64, ns. ``slowest_rank`` and ``fastest_rank`` are entries of
        `ranks`. ``excess`` is the most by which a rank exceeds its own median. Ranks are long that exceed it by more
        than half of that: ``long_1_start``, ``long_1_end`` and so on are their places, as up to two runs [start, end);
        an iteration with more runs has start 0, end 0 and `MANY` as the start of the second.
    of_rank : `OF_RANK` → (ranks,) int64.
    sums : phase → (ranks,) int64, ns: sum of each rank over its iterations; ``time_ns`` is the main phase.
    phases : further phases → `PHASE` → (iterations,) int64, ns.
    histogram : (3, n) int64: place of the rank, bucket, count.
    """

    ranks: tuple[int, ...]
    of_iteration: Mapping[str, Integers]
    of_rank: Mapping[str, Integers]
    sums: Mapping[str, Integers]
    phases: Mapping[str, Mapping[str, Integers]] = field(default_factory=dict)
    histogram: Integers = field(default_factory=lambda: np.empty((3, 0), np.int64))

    @property
    def iterations(self) -> int:
        """How many iterations."""
        return len(self.of_iteration["slowest"])

    def reduced(self, how: str, phase: str = "time_ns") -> NDArray[np.float64]:
        """One time of each iteration, (iterations,), ns: of the slowest rank (``max``), or the ``mean`` over ranks."""
        values = self.of_iteration if phase == "time_ns" else self.phases[phase]
        return np.asarray(values["sum"] / len(self.ranks) if how == "mean" else values["slowest"], np.float64)

    def means(self) -> dict[str, Means]:
        """Every phase by name, as an object with `mean` along either axis."""
        return {
            name: Means(self.reduced("mean", name), sums / max(self.iterations, 1)) for name, sums in self.sums.items()
        }

    def quantiles(self, qs: Sequence[float]) -> NDArray[np.float64]:
        """Quantiles of every rank, (quantiles, ranks), ns, within `histogram.ERROR` of the exact ones."""
        values = np.full((len(qs), len(self.ranks)), np.nan)
        edges = np.searchsorted(self.histogram[0], np.arange(len(self.ranks) + 1))
        reached = np.cumsum(self.histogram[2])
        middles = histogram.middle(self.histogram[1])
        before = np.concatenate(([0], reached))[edges[:-1]]
        total = np.concatenate(([0], reached))[edges[1:]] - before
        timed = total > 0
        for place, q in enumerate(qs):
            wanted = np.maximum(np.ceil(np.round(total * q, 9)), 1).astype(np.int64)
            at = np.searchsorted(reached, (before + wanted)[timed])
            values[place, timed] = middles[at]
        return values


@dataclass(frozen=True)
class Means:
    """Means of a phase over ranks and over iterations, under the name that an array of all times has for them."""

    over_ranks: NDArray[np.float64]
    over_iterations: NDArray[np.float64]

    def mean(self, axis: int) -> NDArray[np.float64]:
        """(iterations,) for axis 0, (ranks,) for axis 1, ns."""
        return self.over_iterations if axis else self.over_ranks


def columns(times: Integers, typical: Integers) -> dict[str, Integers]:
    """`OF_ITERATION` of some iterations.

    Parameters
    ----------
    times : (ranks, iterations) ns.
    typical : (ranks,) ns: median of each rank.

    Returns
    -------
    Name → (iterations,); ``slowest_rank`` and ``fastest_rank`` are places.
    """
    ordered = np.sort(times, axis=0)
    places = {name: -(-len(times) * (i + 1) // 10) - 1 for i, name in enumerate(DECILES)}
    excess = times - typical[:, None]
    largest = excess.max(axis=0)
    statistics = {name: ordered[place] for name, place in places.items()}
    statistics |= {"slowest": ordered[-1], "fastest": ordered[0], "sum": times.sum(axis=0), "excess": largest}
    statistics |= {"slowest_rank": times.argmax(axis=0), "fastest_rank": times.argmin(axis=0)}
    statistics |= dict(zip(RUNS, runs(2 * excess > largest), strict=True))
    return {name: np.asarray(statistics[name], np.int64) for name in OF_ITERATION}


def phase_columns(times: Integers) -> dict[str, Integers]:
    """`PHASE` of some iterations of a further phase, from (ranks, iterations) ns."""
    return {"slowest": times.max(axis=0), "fastest": times.min(axis=0), "sum": times.sum(axis=0)}


def runs(long: NDArray[np.bool_]) -> Integers:
    """Places that are True in each column, as up to two runs.

    Parameters
    ----------
    long : (ranks, iterations).

    Returns
    -------
    (4, iterations): start and end of the first run, start and end of the second; see `OverRanks`.

    Examples
    --------
    >>> runs(np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]], bool)).T.tolist()
    [[0, 1, 2, 3], [1, 3, 0, 0], [0, 1, 0, 0]]
    """
    ranks, iterations = long.shape
    padded = np.zeros((ranks + 2, iterations), bool)
    padded[1:-1] = long
    starts, ends = padded[1:] & ~padded[:-1], padded[:-1] & ~padded[1:]  # (ranks + 1, iterations)
    number = starts.sum(axis=0)
    first, first_end = starts.argmax(axis=0), ends.argmax(axis=0)
    last, last_end = ranks - starts[::-1].argmax(axis=0), ranks - ends[::-1].argmax(axis=0)
    bounds = np.array([first, first_end, last, last_end], np.int64)
    bounds[2:, number < 2] = 0
    bounds[:, number == 0] = 0
    bounds[:, number > 2] = np.array([[0], [0], [MANY], [MANY]])
    return bounds


def of_rank(times: Integers) -> dict[str, int]:
    """`OF_RANK` of one rank but its count of being slowest, from (iterations,) ns; the median is rounded down."""
    return {"p50": int(np.median(times)), "min": int(times.min()), "max": int(times.max())}


def summarise(ranks: Sequence[int], times: Integers, phases: Mapping[str, Integers] | None = None) -> OverRanks:
    """Statistics over ranks of a point that keeps every time.

    Parameters
    ----------
    ranks : (ranks,).
    times : (ranks, iterations), ns.
    phases : further times of the same shape.
    """
    each = [of_rank(row) for row in times]
    table = {name: np.array([one[name] for one in each], np.int64) for name in OF_RANK if name != "slowest_count"}
    statistics = columns(times, table["p50"])
    table["slowest_count"] = np.bincount(statistics["slowest_rank"], minlength=len(ranks)).astype(np.int64)
    counted = [histogram.count(row) for row in times]
    places = np.repeat(np.arange(len(ranks)), [len(buckets) for buckets, _ in counted])
    parts = [places, *(np.concatenate([part[i] for part in counted]) for i in (0, 1))]
    further = {name: values for name, values in (phases or {}).items() if name != "time_ns"}
    return OverRanks(
        ranks=tuple(ranks),
        of_iteration=named(statistics, ranks),
        of_rank={name: table[name] for name in OF_RANK},
        sums={"time_ns": times.sum(axis=1)} | {name: values.sum(axis=1) for name, values in further.items()},
        phases={name: phase_columns(values) for name, values in further.items()},
        histogram=np.array(parts, np.int64),
    )


def named(columns: Mapping[str, Integers], ranks: Sequence[int]) -> dict[str, Integers]:
    """Columns with the ranks themselves instead of their places."""
    who = np.asarray(ranks, np.int64)
    return dict(columns) | {name: who[columns[name]] for name in ("slowest_rank", "fastest_rank")}


def packed(over: OverRanks) -> Integers:
    """All numbers but the ranks in one row, for a pipe; `unpacked` reverses it."""
    parts = [over.of_iteration[name] for name in OF_ITERATION]
    parts += [values[name] for values in over.phases.values() for name in PHASE]
    parts += [over.of_rank[name] for name in OF_RANK] + list(over.sums.values())
    return np.concatenate([*(np.ravel(part) for part in parts), over.histogram.ravel()])


def unpacked(values: Integers, ranks: Sequence[int], iterations: int, phases: Sequence[str]) -> OverRanks:
    """Statistics from the result of `packed`.

    Parameters
    ----------
    phases : names of the further phases.
    """
    at = 0

    def take(length: int) -> Integers:
        nonlocal at
        at += length
        return values[at - length : at]

    of_iteration = {name: take(iterations) for name in OF_ITERATION}
    further = {phase: {name: take(iterations) for name in PHASE} for phase in phases}
    table = {name: take(len(ranks)) for name in OF_RANK}
    sums = {name: take(len(ranks)) for name in ("time_ns", *phases)}
    return OverRanks(tuple(ranks), of_iteration, table, sums, further, values[at:].reshape(3, -1))
