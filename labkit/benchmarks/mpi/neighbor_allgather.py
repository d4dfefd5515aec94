"""Latency of MPI_Neighbor_allgather: every rank receives one message from each of its neighbours.

Every rank times every iteration; the slowest rank counts. The mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_neighbor_allgather (OMB 7.4).
`streaming` runs them back to back. `synchronised` starts each at an agreed time on synchronised clocks.
"""

from collections.abc import Callable

import numpy as np

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Moving, Values, allowed
from labkit.benchmarks.mpi._forms import IN_OSU_NONBLOCKING, counted, forms
from labkit.options import frozen
from labkit.options.ranks import Topology
from labkit.point.spec import Spec


@frozen
class Options(Topology, Moving):
    """Options of a neighbourhood collective."""


def near(spec: Spec[Options], rank: int) -> list[int]:
    """Neighbours of a rank in MPI's order."""
    ring = [(rank - 1) % spec.ranks, (rank + 1) % spec.ranks]
    return ring if spec.options.topology == "cart" else sorted(set(ring))


def _expected(spec: Spec[Options], rank: int, send: Callable[[int], Values]) -> Values:
    return np.concatenate([send(peer)[: spec.size] for peer in near(spec, rank)])


BENCHMARK = CollectiveBenchmark(
    title="neighbourhood allgather",
    kernel="neighbor_allgather",
    options=Options,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size, spec.size * len(near(spec, 0))),
    peers=near,
    expected=_expected,
    metrics={"latency_us": lambda spec: 1},
    equivalents={"osu_neighbor_allgather": {}},
)
NEIGHBOR_ALLGATHERV = counted(
    BENCHMARK,
    "every rank receives one message from each of its neighbours",
    "neighbor_allgatherv",
    title="neighbourhood allgather, v form",
    equivalents={"osu_neighbor_allgatherv": {}},
)
FORMS = {
    **forms(BENCHMARK, IN_OSU_NONBLOCKING),
    "neighbor_allgatherv": NEIGHBOR_ALLGATHERV,
    **forms(NEIGHBOR_ALLGATHERV, IN_OSU_NONBLOCKING),
}
