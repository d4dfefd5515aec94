"""Latency of MPI_Neighbor_alltoall: every rank sends a different message to each of its neighbours.

Every rank times every iteration; the slowest rank counts. The mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_neighbor_alltoall (OMB 7.4).
`streaming` runs them back to back. `synchronised` starts each at an agreed time on synchronised clocks.
"""

from collections.abc import Callable

import numpy as np

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Values, allowed
from labkit.benchmarks.mpi._forms import IN_OSU_NONBLOCKING, counted, forms
from labkit.benchmarks.mpi.neighbor_allgather import Options, near
from labkit.point.spec import Spec


def expected(spec: Spec[Options], rank: int, send: Callable[[int], Values]) -> Values:
    """The message of each neighbour for this rank. Two neighbours in a cart exchange theirs crosswise."""
    messages = []
    for place, peer in enumerate(near(spec, rank)):
        theirs = near(spec, peer)
        at = theirs.index(rank) if theirs.count(rank) == 1 else 1 - place
        messages.append(send(peer)[at * spec.size : (at + 1) * spec.size].copy())
    crossed = np.concatenate(messages)
    # if two ranks are neighbours twice, libraries differ on the order of the messages
    twice = spec.options.topology == "cart" and spec.ranks == 2
    return np.stack([crossed, np.concatenate(messages[::-1])]) if twice else crossed


_DOES = "every rank sends a different message to each of its neighbours"
BENCHMARK = CollectiveBenchmark(
    title="neighbourhood all to all",
    kernel="neighbor_alltoall",
    options=Options,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size * len(near(spec, 0)),) * 2,
    peers=near,
    expected=expected,
    metrics={"latency_us": lambda spec: 1},
    equivalents={"osu_neighbor_alltoall": {}},
)
NEIGHBOR_ALLTOALLV = counted(
    BENCHMARK,
    _DOES,
    "neighbor_alltoallv",
    title="neighbourhood all to all, v form",
    equivalents={"osu_neighbor_alltoallv": {}},
)
NEIGHBOR_ALLTOALLW = counted(
    BENCHMARK,
    _DOES,
    "neighbor_alltoallw",
    title="neighbourhood all to all, w form",
    equivalents={"osu_neighbor_alltoallw": {}},
)
FORMS = {
    **forms(BENCHMARK, IN_OSU_NONBLOCKING),
    "neighbor_alltoallv": NEIGHBOR_ALLTOALLV,
    **forms(NEIGHBOR_ALLTOALLV, IN_OSU_NONBLOCKING),
    "neighbor_alltoallw": NEIGHBOR_ALLTOALLW,
    **forms(NEIGHBOR_ALLTOALLW, IN_OSU_NONBLOCKING),
}
