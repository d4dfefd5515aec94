"""Latency of MPI_Reduce: the sum of one vector over all ranks, given to the root.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_reduce (OMB 7.4,
mpi/collective/blocking/osu_reduce.c); `streaming` runs them back to back, as IMB-MPI1 Reduce does. Bus bandwidth is
size over time (nccl-tests, PERFORMANCE.md).
"""

from dataclasses import dataclass

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Reduction, Rooted, root_exists


@dataclass(frozen=True, kw_only=True)
class Options(Reduction, Rooted):
    """Options of mpi.reduce."""


BENCHMARK = Benchmark(
    title="reduce",
    kernel="reduce",
    options=Options,
    check=root_exists,
    ranks=(1, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.option("datatype"),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: spec.size},
    expected=lambda spec, rank, send: sum(send(r) for r in range(spec.ranks)) if rank == spec.option("root") else None,
    work=lambda spec: {"root": spec.option("root")},
    reduce="max",
    classics={"osu_reduce": {}, "IMB-MPI1 Reduce": {"cadence": "streaming"}},
)
