"""Handles the times of all ranks: all go to rank 0, or the ranks reduce them among themselves.

Both ways give rank 0 one time of every iteration after each chunk, for the stop rule, and at the end the data to keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit.stats import across_ranks, histogram
from labkit.worker.group import Alone, Together

Times = NDArray[np.int64]
WHOLE = 64  # rows up to which every time is kept
SAMPLED = 8  # ranks drawn by lot that keep every time
SUSPECTS = 8  # ranks found slow that do, at most
_SHARE = 0.02  # of the iterations, from which on a rank counts as slow
_BLOCK = 1 << 22  # times of one rank's part of a transposition, 32 MiB


@dataclass(frozen=True)
class Kept:
    """Times of rank 0 at the end of a point; empty on the others.

    Parameters
    ----------
    times : (phases, rows, iterations) ns.
    rows : whom each row belongs to: rank r, or thread t of it as r * threads + t.
    over : statistics over all ranks, where `times` are those of a part of them.
    """

    times: Times
    rows: tuple[int, ...]
    over: across_ranks.OverRanks | None = None


class Every:
    """Rank 0 gets every time of every rank.

    Parameters
    ----------
    rows : rows of the samples, as in `Kept`.
    timing : ranks that time.
    how : how the times of an iteration become one.
    """

    def __init__(
        self, ranks: Alone | Together, rows: Sequence[int], timing: Sequence[int], how: Literal["max", "mean"]
    ) -> None:
        self._ranks, self.rows, self._timing, self._how = ranks, tuple(rows), list(timing), how
        self._chunks: list[Times] = []

    def take(self, times: Times) -> NDArray[Any]:
        """Take a chunk of this rank, (phases, threads, iterations) ns; on rank 0 return one time of each iteration."""
        gathered = self._ranks.gather(times.ravel()).reshape(self._ranks.size, *times.shape)
        if self._ranks.rank:
            return np.empty(0, np.int64)
        active = gathered[self._timing].swapaxes(0, 1)
        chunk = active.reshape(active.shape[0], -1, active.shape[-1])
        self._chunks.append(chunk)
        return np.asarray(chunk[0].mean(axis=0) if self._how == "mean" else chunk[0].max(axis=0))

    def finish(self, names: Sequence[str], seed: int) -> Kept:
        """Return the kept times of the whole point.

        Parameters
        ----------
        names : names of the phases.
        seed : seed of the lot.
        """
        chunks = self._chunks
        return Kept(np.concatenate(chunks, axis=2) if chunks else np.empty((1, 0, 0), np.int64), self.rows)


class Extremes:
    """Each rank keeps its own times until the end; then the ranks reduce them, in parts of the iterations.

    Parameters
    ----------
    as for `Every`.
    """

    def __init__(
        self, ranks: Together, rows: Sequence[int], timing: Sequence[int], how: Literal["max", "mean"]
    ) -> None:
        self._ranks, self.rows, self._timing, self._how = ranks, tuple(rows), list(timing), how
        self._times = ranks.rank in self._timing
        self._threads = len(rows) // len(self._timing)
        self._chunks: list[Times] = []

    def take(self, times: Times) -> NDArray[Any]:
        """See `Every`."""
        self._chunks.append(times)
        main = times[0]
        if self._how == "mean":
            total = self._ranks.total(main.sum(axis=0) if self._times else np.zeros(main.shape[1], np.int64))
            return total / len(self.rows)
        return self._ranks.greatest(main.max(axis=0) if self._times else np.zeros(main.shape[1], np.int64))

    def finish(self, names: Sequence[str], seed: int) -> Kept:
        """See `Every`."""
        mine = np.concatenate(self._chunks, axis=2) if self._chunks else np.empty((len(names), 1, 0), np.int64)
        if not self._times:
            mine = np.empty((len(names), 0, mine.shape[2]), np.int64)
        of_rank = self._of_rank(mine)
        columns = self._columns(mine[0], of_rank["p50"])
        phases = {name: self._phase(mine[i]) for i, name in enumerate(names) if i}
        sums = {name: self._ranks.collect(mine[i].sum(axis=1)) for i, name in enumerate(names)}
        counted = self._histogram(mine[0])
        chosen = self._chosen(columns, seed)
        times = self._full(mine, chosen)
        if self._ranks.rank:
            return Kept(np.empty((1, 0, 0), np.int64), ())
        of_rank["slowest_count"] = np.bincount(columns["slowest_rank"], minlength=len(self.rows)).astype(np.int64)
        over = across_ranks.OverRanks(
            ranks=self.rows,
            of_iteration=across_ranks.named(columns, self.rows),
            of_rank={name: of_rank[name] for name in across_ranks.OF_RANK},
            sums=sums,
            phases=phases,
            histogram=counted,
        )
        return Kept(times, tuple(self.rows[place] for place in chosen), over)

    def _of_rank(self, mine: Times) -> dict[str, Times]:
        """`labkit.stats.across_ranks.OF_RANK` but for the count; medians on every rank, the rest on rank 0."""
        each = [across_ranks.of_rank(row) for row in mine[0]]
        names = [name for name in across_ranks.OF_RANK if name != "slowest_count"]
        statistics = {name: self._ranks.collect(np.array([one[name] for one in each], np.int64)) for name in names}
        statistics["p50"] = self._ranks.spread(statistics["p50"], len(self.rows))
        return statistics

    def _parts(self, iterations: int) -> list[tuple[int, int]]:
        """Iterations that are reduced at once: of each, every rank reduces a part."""
        step = max(1, min(iterations, _BLOCK // max(len(self.rows), 1)) * self._ranks.size)
        return [(first, min(first + step, iterations)) for first in range(0, iterations, step)]

    def _columns(self, main: Times, typical: Times) -> dict[str, Times]:
        """`labkit.stats.across_ranks.OF_ITERATION` on rank 0, with places of ranks."""
        parts = []
        for first, last in self._parts(main.shape[1]):
            part = self._ranks.transpose(main[:, first:last], self._threads, self._timing)
            columns = across_ranks.columns(part, typical)
            parts.append(self._joined(np.array([columns[name] for name in across_ranks.OF_ITERATION]), last - first))
        return dict(zip(across_ranks.OF_ITERATION, np.concatenate(parts, axis=1), strict=True))

    def _phase(self, times: Times) -> dict[str, Times]:
        """`labkit.stats.across_ranks.PHASE` of a further phase on rank 0."""
        parts = []
        for first, last in self._parts(times.shape[1]):
            part = self._ranks.transpose(times[:, first:last], self._threads, self._timing)
            columns = across_ranks.phase_columns(part)
            parts.append(self._joined(np.array([columns[name] for name in across_ranks.PHASE]), last - first))
        return dict(zip(across_ranks.PHASE, np.concatenate(parts, axis=1), strict=True))

    def _joined(self, columns: Times, iterations: int) -> Times:
        """Columns of all ranks' parts beside one another, (names, iterations) on rank 0; empty on the others."""
        flat = self._ranks.collect(np.ascontiguousarray(columns.T).ravel())
        return flat.reshape(-1, len(columns)).T if self._ranks.rank == 0 else np.empty((len(columns), 0), np.int64)

    def _histogram(self, main: Times) -> Times:
        """Place of the rank, bucket and count on rank 0, (3, n)."""
        counted = [histogram.count(row) for row in main]
        first = self._timing.index(self._ranks.rank) * self._threads if len(main) else 0
        rows = [
            np.stack([np.full(len(buckets), first + i), buckets, counts], axis=1)
            for i, (buckets, counts) in enumerate(counted)
        ]
        flat = np.concatenate(rows).ravel() if rows else np.empty(0, np.int64)
        return self._ranks.collect(flat.astype(np.int64)).reshape(-1, 3).T

    def _chosen(self, columns: dict[str, Times], seed: int) -> Times:
        """Places of the rows that keep every time: some by lot, and those found slow; known to all."""
        chosen = np.empty(0, np.int64)
        if self._ranks.rank == 0:
            lot = np.random.default_rng(abs(seed)).choice(len(self.rows), min(SAMPLED, len(self.rows)), replace=False)
            chosen = np.union1d(lot, suspects(columns, len(self.rows))).astype(np.int64)
        return self._ranks.spread(chosen, self._ranks.bcast(len(chosen)))

    def _full(self, mine: Times, chosen: Times) -> Times:
        """Every time of the chosen rows, (phases, chosen, iterations) on rank 0."""
        phases, threads, iterations = mine.shape
        first = self._timing.index(self._ranks.rank) * self._threads if threads else 0
        rows = [mine[:, place - first] for place in chosen.tolist() if first <= place < first + threads]
        flat = np.concatenate([one.ravel() for one in rows]) if rows else np.empty(0, np.int64)
        gathered = self._ranks.collect(flat)
        if self._ranks.rank:
            return gathered
        return gathered.reshape(len(chosen), phases, iterations).swapaxes(0, 1)


def suspects(columns: dict[str, Times], rows: int) -> Times:
    """Places of the ranks that were most often slow, `SUSPECTS` at most.

    A slow iteration counts for a rank that alone was long, for the only rank that was not long, and for the first rank
    if all ranks from it to the last were long. `labkit.judge.slow_rank` weighs them properly.
    """
    slow = columns["excess"] > columns["slowest"].mean()
    first, end, second, last = (columns[name][slow] for name in across_ranks.RUNS)
    one = second == last
    gap = np.where(
        one & (end == rows) & (first == 1), 0, np.where(one & (first == 0) & (end == rows - 1), rows - 1, -1)
    )
    gap = np.where(~one & (first == 0) & (last == rows) & (second == end + 1), end, gap)
    alone = np.where(one & (end - first == 1), first, -1)
    later = np.where(one & (end == rows) & (first > 1), first, -1)
    named = np.concatenate([gap, alone, later])
    counts = np.bincount(named[named >= 0], minlength=rows)
    likely = np.argsort(-counts, kind="stable")[:SUSPECTS]
    return likely[counts[likely] >= max(3, _SHARE * len(columns["excess"]))]
