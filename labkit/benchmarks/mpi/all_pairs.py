"""Ping-pong between all pairs of ranks, in the rounds of a round-robin tournament.

An iteration is a round: every rank has one partner, and all pairs of the round ping-pong at once, first started by the
lower rank, then by the higher one. A barrier follows. After n - 1 rounds (n if the number of ranks is odd) every rank
has met every other; then the rounds start again. A chunk of iterations continues where the last one ended. Every rank
keeps the time of its own round trip: `labkit.judge.all_pairs` computes the whole matrix. The latency of a record is
half the round trip of the slowest pair of a round. The schedule of LinkTest (FZ Jülich) and ClusterKit.
"""

from functools import lru_cache

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Values
from labkit.options.ranks import Buffers

NOBODY = -1


@lru_cache(maxsize=64)
def partners(ranks: int) -> Values:
    """Partner of every rank in every round, (rounds, ranks); -1 for a rank that sits out.

    Examples
    --------
    >>> partners(4).tolist()
    [[3, 2, 1, 0], [2, 3, 0, 1], [1, 0, 3, 2]]
    """
    even = ranks + ranks % 2
    turns = np.arange(even - 1, dtype=np.int32)
    table = np.full((even - 1, even), NOBODY, np.int32)
    table[:, :-1] = (2 * turns[:, None] - turns) % (even - 1)  # turn + k meets turn - k
    table[turns, turns], table[:, -1] = even - 1, turns  # and turn, which would meet itself, the last one
    return np.where(table < ranks, table, NOBODY)[:, :ranks]


BENCHMARK = KernelBenchmark(
    title="all pairs, slowest of a round",
    kernel="all_pairs",
    every_time=True,
    options=Buffers,
    ranks=(2, None),
    sizes="8:1Mi:*131072",
    warmup=(10, 1),
    metrics={"latency_us": lambda spec: 2, "bandwidth_MBps": lambda spec: 2 * spec.size},
    peers=lambda spec, rank: partners(spec.ranks)[:, rank].tolist(),
    work=lambda spec: {"extra": np.full(1, -1)},  # round of the first iteration, which is only a probe
    expected=lambda spec, rank, send: (
        None if (partner := int(partners(spec.ranks)[-1, rank])) == NOBODY else send(partner)
    ),
)
