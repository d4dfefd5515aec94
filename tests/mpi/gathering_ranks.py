"""Ranks that tell one another texts and flags, on hosts that are made up: a program for mpirun."""

from __future__ import annotations

from mpi4py import MPI

from labkit.worker.group import Together

WORLD = Together(MPI.COMM_WORLD)
RANK, SIZE = WORLD.rank, WORLD.size


def main() -> None:
    for own in (lambda rank: "", lambda rank: "µ" * rank, lambda rank: "x" * 5000):
        assert WORLD.texts(own(RANK)) == ([own(rank) for rank in range(SIZE)] if RANK == 0 else [])
    for text in ("", "first", "ü" * 1000):
        assert WORLD.text(text if RANK == 0 else "another") == text
    assert WORLD.any([False, RANK == SIZE - 1, True]) == [False, True, True]
    assert WORLD.leaders(["one"] * SIZE if RANK == 0 else []) is None
    hosts = [f"host{rank // 2}" for rank in range(SIZE)]
    leaders = WORLD.leaders(hosts if RANK == 0 else [])
    if SIZE < 3:
        assert leaders is None
    else:
        assert (leaders is not None) == (RANK % 2 == 0)
        if leaders is not None:
            assert leaders.size == (SIZE + 1) // 2
            found = leaders.texts(hosts[RANK])
            assert found == (sorted(set(hosts)) if RANK == 0 else [])
    MPI.COMM_WORLD.Barrier()
    if RANK == 0:
        print("all agree", flush=True)


main()
