"""Ranks that keep made-up times in both ways and compare them: a program for mpirun."""

from __future__ import annotations

import numpy as np

from labkit.stats import across_ranks
from labkit.worker.group import Together
from labkit.worker.retention import Every, Extremes, Kept

NAMES = ["time_ns", "pure_ns"]


def same(every: Kept, extremes: Kept) -> None:
    """Compare what rank 0 keeps."""
    assert extremes.over is not None
    wanted = across_ranks.summarise(every.rows, every.times[0], {"pure_ns": every.times[1]})
    assert extremes.over.ranks == every.rows
    for group in ("of_iteration", "of_rank", "sums"):
        for name, values in getattr(wanted, group).items():
            assert (getattr(extremes.over, group)[name] == values).all(), (group, name)
    for name, values in wanted.phases["pure_ns"].items():
        assert (extremes.over.phases["pure_ns"][name] == values).all(), name
    assert (extremes.over.histogram == wanted.histogram).all()
    places = [every.rows.index(row) for row in extremes.rows]
    assert (extremes.times == every.times[:, places]).all()


def main() -> None:
    """Times with a slow rank, several threads, and a rank that does not time; chunks of unequal length."""
    from mpi4py import MPI  # pytest reads this file for doctests, and must not turn into a job of one rank

    comm, checked = MPI.COMM_WORLD, 0
    ranks = Together(comm)
    for threads, idle, iterations in ((1, (), 501), (2, (1,), 501), (1, (0,), 3), (3, (), 1)):
        timing = [rank for rank in range(comm.size) if comm.size == 1 or rank not in idle]
        rows = [rank * threads + thread for rank in timing for thread in range(threads)]
        full = np.random.default_rng(5).integers(1000, 2000, (2, comm.size, threads, iterations))
        full[0, -1, 0, ::20] += 50_000
        for how in ("max", "mean"):
            every, extremes = Every(ranks, rows, timing, how), Extremes(ranks, rows, timing, how)
            for first, last in ((0, iterations // 3), (iterations // 3, iterations)):
                if first < last:
                    chunk = full[:, comm.rank, :, first:last].copy()
                    gathered, reduced = every.take(chunk), extremes.take(chunk)
                    assert comm.rank or np.allclose(gathered, reduced)
            kept = every.finish(NAMES, 1), extremes.finish(NAMES, 1)
            if comm.rank == 0:
                same(*kept)
                checked += 1
    if comm.rank == 0:
        print(f"{checked} cases agree", flush=True)


if __name__ == "__main__":
    main()
