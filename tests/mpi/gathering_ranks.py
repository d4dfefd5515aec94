"""Ranks that tell one another texts and flags, on hosts that are made up: a program for mpirun."""

from __future__ import annotations

from labkit.worker.group import Together


def main() -> None:
    from mpi4py import MPI  # pytest reads this file for doctests, and must not turn into a job of one rank

    world = Together(MPI.COMM_WORLD)
    rank, size = world.rank, world.size
    for text_of in (lambda rank: "", lambda rank: "µ" * rank, lambda rank: "x" * 5000):
        assert world.texts(text_of(rank)) == ([text_of(other) for other in range(size)] if rank == 0 else [])
    for text in ("", "first", "ü" * 1000):
        assert world.text(text if rank == 0 else "another") == text
    assert world.any([False, rank == size - 1, True]) == [False, True, True]
    assert world.leaders(["one"] * size if rank == 0 else []) is None
    hosts = [f"host{other // 2}" for other in range(size)]
    leaders = world.leaders(hosts if rank == 0 else [])
    if size < 3:
        assert leaders is None
    else:
        assert (leaders is not None) == (rank % 2 == 0)
        if leaders is not None:
            assert leaders.size == (size + 1) // 2
            assert leaders.texts(hosts[rank]) == (sorted(set(hosts)) if rank == 0 else [])
    MPI.COMM_WORLD.Barrier()
    if rank == 0:
        print("all agree", flush=True)


if __name__ == "__main__":
    main()
