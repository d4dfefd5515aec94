"""Schedules of collective algorithms: sender, receiver and bytes of each message in each stage.

Sizes have the meaning of labkit's benchmarks: of the vector for bcast, reduce and allreduce, of one rank's message
for gather, scatter and allgather, between two ranks for alltoall, of a block for reduce_scatter_block. Rank 0 is root.
A vector that is cut into blocks gives the last ranks smaller ones, down to nothing.

References
----------
.. [1] R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 19
   (2005), doi 10.1177/1094342005051521.
.. [2] J. Bruck et al., Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems, IEEE
   TPDS 8 (1997), doi 10.1109/71.642949.
.. [3] D. Hensgen, R. Finkel, U. Manber, Two Algorithms for Barrier Synchronization, IJPP 17 (1988).
.. [4] R. Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004, doi 10.1007/978-3-540-24685-5_1.
.. [5] E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, Collective Communication: Theory, Practice, and
   Experience, Concurrency and Computation 19 (2007), doi 10.1002/cpe.1206.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from labkit.errors import SpecError, unknown_name
from labkit.models.loggp_engine import Stage

Schedule = Callable[[int, int], Iterator[Stage]]
Whole = NDArray[np.int64]


def _powers(ranks: int) -> list[int]:
    """1, 2, 4 … below the number of ranks."""
    return [1 << k for k in range((ranks - 1).bit_length())]


def _blocks(ranks: int, size: int) -> Whole:
    """Sizes of the blocks of a vector, (ranks,), B: equal ones, the last ones smaller or empty."""
    block = -(-size // ranks)
    return np.clip(size - block * np.arange(ranks, dtype=np.int64), 0, block)


def _ring(ranks: int, blocks: Whole, shift: int, *, combined: bool = False) -> Iterator[Stage]:
    """Pass blocks around a ring: in step k rank r sends block r + shift - k to its right neighbour."""
    every = np.arange(ranks)
    for step in range(ranks - 1):
        yield Stage.of(every, (every + 1) % ranks, blocks[(every + shift - step) % ranks], combined=combined)


# ---- one to all, all to one ------------------------------------------------------------------------------------------


def _binomial(ranks: int, sizes: Callable[[Whole, int], Whole]) -> Iterator[Stage]:
    """Binomial tree from rank 0, the largest distance first. `sizes`: of the messages to ranks, at a distance."""
    for distance in reversed(_powers(ranks)):
        source = np.arange(0, ranks - distance, 2 * distance)
        yield Stage.of(source, source + distance, sizes(source + distance, distance))


def _reversed(stages: Iterator[Stage], *, combined: bool) -> Iterator[Stage]:
    """The same messages backwards, from targets to sources."""
    for one in reversed(list(stages)):
        yield Stage(one.target, one.source, one.size, combined)


def bcast_binomial(ranks: int, size: int) -> Iterator[Stage]:
    """Broadcast along a binomial tree."""
    return _binomial(ranks, lambda target, distance: np.full(len(target), size))


def bcast_linear(ranks: int, size: int) -> Iterator[Stage]:
    """Broadcast by the root to one rank after the other."""
    yield Stage.of(0, np.arange(1, ranks), size)


def bcast_scatter_allgather(ranks: int, size: int) -> Iterator[Stage]:
    """Broadcast by a binomial scatter of blocks and a ring that gathers them (van de Geijn) [1]_."""
    blocks = _blocks(ranks, size)
    yield from _binomial(ranks, _subtree(blocks))
    yield from _ring(ranks, blocks, 0)


def _subtree(blocks: Whole) -> Callable[[Whole, int], Whole]:
    """Bytes of the blocks of the ranks below a rank in a binomial tree."""
    total = np.r_[0, np.cumsum(blocks)]
    return lambda target, distance: total[np.minimum(target + distance, len(blocks))] - total[target]


def scatter_linear(ranks: int, size: int) -> Iterator[Stage]:
    """Scatter by the root to one rank after the other."""
    return bcast_linear(ranks, size)


def scatter_binomial(ranks: int, size: int) -> Iterator[Stage]:
    """Scatter along a binomial tree: each message has the data of a subtree."""
    return _binomial(ranks, _subtree(np.full(ranks, size)))


def gather_linear(ranks: int, size: int) -> Iterator[Stage]:
    """Gather by all ranks to the root at once."""
    yield Stage.of(np.arange(1, ranks), 0, size)


def gather_binomial(ranks: int, size: int) -> Iterator[Stage]:
    """Gather along a binomial tree."""
    return _reversed(scatter_binomial(ranks, size), combined=False)


def reduce_binomial(ranks: int, size: int) -> Iterator[Stage]:
    """Reduce along a binomial tree."""
    return _reversed(bcast_binomial(ranks, size), combined=True)


def reduce_linear(ranks: int, size: int) -> Iterator[Stage]:
    """Reduce by all ranks to the root at once."""
    yield Stage.of(np.arange(1, ranks), 0, size, combined=True)


# ---- all to all ------------------------------------------------------------------------------------------------------


def _folded(ranks: int, size: int, inner: Callable[[Whole], Iterator[Stage]]) -> Iterator[Stage]:
    """Reduce to a power of two ranks, work there, and give the others the result [1]_.

    Of the first 2·rest ranks, each even one gives its vector to the next and takes the result from it.
    """
    power = 1 << (ranks.bit_length() - 1)
    rest = ranks - power
    even = np.arange(0, 2 * rest, 2)
    if rest:
        yield Stage.of(even, even + 1, size, combined=True)
    yield from inner(np.r_[even + 1, np.arange(2 * rest, ranks)])
    if rest:
        yield Stage.of(even + 1, even, size)


def allreduce_recursive_doubling(ranks: int, size: int) -> Iterator[Stage]:
    """Exchange whole vectors at distances 1, 2, 4 …; ranks beyond a power of two are folded in [1]_."""

    def inner(members: Whole) -> Iterator[Stage]:
        number = np.arange(len(members))
        for distance in _powers(len(members)):
            yield Stage.of(members, members[number ^ distance], size, combined=True)

    return _folded(ranks, size, inner)


def allreduce_rabenseifner(ranks: int, size: int) -> Iterator[Stage]:
    """Reduce-scatter by recursive halving, allgather by recursive doubling [4]_."""

    def inner(members: Whole) -> Iterator[Stage]:
        n = len(members)
        total, number = np.r_[0, np.cumsum(_blocks(n, size))], np.arange(n)
        halves = list(reversed(_powers(n)))
        for distance, combined in [*((d, True) for d in halves), *((d, False) for d in reversed(halves))]:
            partner = number ^ distance
            first = (partner if combined else number) // distance * distance  # blocks that are given
            yield Stage.of(members, members[partner], total[first + distance] - total[first], combined=combined)

    return _folded(ranks, size, inner)


def allreduce_ring(ranks: int, size: int) -> Iterator[Stage]:
    """Reduce-scatter and allgather of blocks around a ring."""
    blocks = _blocks(ranks, size)
    yield from _ring(ranks, blocks, 0, combined=True)
    yield from _ring(ranks, blocks, 1)


def allreduce_reduce_bcast(ranks: int, size: int) -> Iterator[Stage]:
    """Reduce to rank 0 and broadcast, both along binomial trees."""
    yield from reduce_binomial(ranks, size)
    yield from bcast_binomial(ranks, size)


def allgather_ring(ranks: int, size: int) -> Iterator[Stage]:
    """Pass messages around a ring."""
    return _ring(ranks, np.full(ranks, size), 0)


def allgather_bruck(ranks: int, size: int) -> Iterator[Stage]:
    """Send everything to the rank at distance 1, 2, 4 … below [2]_; with 2^n ranks as long as recursive doubling."""
    every = np.arange(ranks)
    for distance in _powers(ranks):
        yield Stage.of(every, (every - distance) % ranks, size * min(distance, ranks - distance))


def reduce_scatter_ring(ranks: int, size: int) -> Iterator[Stage]:
    """Pass blocks around a ring and add to them."""
    return _ring(ranks, np.full(ranks, size), 0, combined=True)


def reduce_scatter_pairwise(ranks: int, size: int) -> Iterator[Stage]:
    """Exchange one block with the ranks at distance 1, 2, 3 …, and add it [1]_."""
    every = np.arange(ranks)
    for distance in range(1, ranks):
        yield Stage.of(every, (every + distance) % ranks, size, combined=True)


def alltoall_linear(ranks: int, size: int) -> Iterator[Stage]:
    """Send to all others at once, from the next rank on."""
    every, distance = np.arange(ranks), np.arange(1, ranks)
    source = np.tile(every, ranks - 1)
    yield Stage.of(source, (source + np.repeat(distance, ranks)) % ranks, size)


def alltoall_pairwise(ranks: int, size: int) -> Iterator[Stage]:
    """Exchange with the ranks at distance 1, 2, 3 …, one at a time [1]_."""
    every = np.arange(ranks)
    for distance in range(1, ranks):
        yield Stage.of(every, (every + distance) % ranks, size)


def alltoall_bruck(ranks: int, size: int) -> Iterator[Stage]:
    """In step k, send the blocks with bit k in their number to the rank at distance 2^k [2]_."""
    every, number = np.arange(ranks), np.arange(ranks)
    for distance in _powers(ranks):
        yield Stage.of(every, (every + distance) % ranks, size * int(((number & distance) > 0).sum()))


def barrier_dissemination(ranks: int, size: int = 0) -> Iterator[Stage]:
    """Tell the ranks at distance 1, 2, 4 … that one is there [3]_."""
    every = np.arange(ranks)
    for distance in _powers(ranks):
        yield Stage.of(every, (every + distance) % ranks, size)


ALGORITHMS: Mapping[str, Mapping[str, Schedule]] = {
    "mpi.bcast": {
        "binomial": bcast_binomial,
        "linear": bcast_linear,
        "scatter and ring": bcast_scatter_allgather,
    },
    "mpi.scatter": {"binomial": scatter_binomial, "linear": scatter_linear},
    "mpi.gather": {"binomial": gather_binomial, "linear": gather_linear},
    "mpi.reduce": {"binomial": reduce_binomial, "linear": reduce_linear},
    "mpi.allreduce": {
        "recursive doubling": allreduce_recursive_doubling,
        "Rabenseifner": allreduce_rabenseifner,
        "ring": allreduce_ring,
        "reduce and broadcast": allreduce_reduce_bcast,
    },
    "mpi.allgather": {"ring": allgather_ring, "Bruck": allgather_bruck},
    "mpi.reduce_scatter_block": {"ring": reduce_scatter_ring, "pairwise": reduce_scatter_pairwise},
    "mpi.alltoall": {"pairwise": alltoall_pairwise, "linear": alltoall_linear, "Bruck": alltoall_bruck},
    "mpi.barrier": {"dissemination": barrier_dissemination},
}

_LEAST: Mapping[str, Callable[[int], float]] = {  # bytes that one rank sends or receives at least, in sizes
    "mpi.bcast": lambda ranks: 1.0,
    "mpi.reduce": lambda ranks: 1.0,
    "mpi.scan": lambda ranks: 1.0,
    "mpi.exscan": lambda ranks: 1.0,
    "mpi.allreduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "mpi.reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "mpi.reduce_scatter_block": lambda ranks: ranks - 1.0,
    "mpi.scatter": lambda ranks: ranks - 1.0,
    "mpi.gather": lambda ranks: ranks - 1.0,
    "mpi.allgather": lambda ranks: ranks - 1.0,
    "mpi.alltoall": lambda ranks: ranks - 1.0,
    "mpi.barrier": lambda ranks: 0.0,
}


# collectives whose plain algorithm, each message straight to its target, moves no more bytes than the least
STRAIGHT = frozenset(("mpi.scatter", "mpi.gather", "mpi.allgather", "mpi.alltoall"))


def bounded(collective: str) -> bool:
    """Return whether `least` knows a collective."""
    return collective in _LEAST


def least(collective: str, ranks: int, size: int) -> tuple[int, float]:
    """Return the lower bounds of all algorithms: messages that wait for one another, and bytes of one rank [5]_.

    Parameters
    ----------
    collective : benchmark, such as ``mpi.allreduce``.
    ranks : how many take part.
    size : as in the benchmark, B; of mpi.reduce_scatter that of the vector.

    Examples
    --------
    >>> least("mpi.allreduce", 4, 1000), least("mpi.barrier", 5, 0)
    ((2, 1500.0), (3, 0.0))
    """
    return (ranks - 1).bit_length(), _LEAST[collective](ranks) * size


def algorithms(collective: str) -> Mapping[str, Schedule]:
    """Return the algorithms of a collective by name.

    Raises
    ------
    SpecError
        If none is known.
    """
    if collective not in ALGORITHMS:
        raise unknown_name("collective with known algorithms", collective, list(ALGORITHMS))
    return ALGORITHMS[collective]


def schedule(collective: str, algorithm: str, ranks: int, size: int) -> Iterator[Stage]:
    """Return the stages of an algorithm.

    Parameters
    ----------
    collective : benchmark, such as ``mpi.allreduce``.
    algorithm : one of `algorithms`.
    ranks : how many take part.
    size : as in the benchmark, B.

    Raises
    ------
    SpecError
        If collective or algorithm are not known, or there are no ranks.
    """
    names = algorithms(collective)
    if algorithm not in names:
        raise unknown_name(f"algorithm of {collective}", algorithm, list(names))
    if ranks < 1 or size < 0:
        raise SpecError(f"ranks={ranks}, size={size} B, but there must be 1 rank or more and a size of 0 B or more.")
    return names[algorithm](ranks, size)
