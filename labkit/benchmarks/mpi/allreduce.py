"""Latency of MPI_Allreduce: the sum of one vector over all ranks, given to all of them.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_allreduce (OMB 7.4,
mpi/collective/blocking/osu_allreduce.c); `streaming` runs them back to back, as IMB-MPI1 Allreduce does. Bus bandwidth
is 2(n-1)/n times size over time (nccl-tests, PERFORMANCE.md).
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of mpi.allreduce.

    Parameters
    ----------
    datatype : of the elements; osu_allreduce -T mpi_float is the default here.
    cadence : `isolated` by a barrier after every iteration, or `streaming`.
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop.
    hugepages : ask for huge pages for the message buffers.
    """

    datatype: Literal["float32", "float64", "int32"] = "float32"
    cadence: Literal["isolated", "streaming"] = "isolated"
    timing: Literal["each", "total"] = "each"
    hugepages: bool = False


BENCHMARK = Benchmark(
    title="allreduce",
    kernel="allreduce",
    options=Options,
    ranks=(1, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.option("datatype"),
    metrics={
        "latency_us": lambda spec: 1,
        "busbw_GBps": lambda spec: 2 * (spec.ranks - 1) / spec.ranks * spec.size,
    },
    expected=lambda spec, rank, send: sum(send(r) for r in range(spec.ranks)),
    reduce="max",
)
