"""Latency of MPI_Allreduce: the sum of one vector over all ranks, given to all of them.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_allreduce (OMB 7.4,
mpi/collective/blocking/osu_allreduce.c); `streaming` runs them back to back, as IMB-MPI1 Allreduce does. Bus bandwidth
is 2(n-1)/n times size over time (nccl-tests, PERFORMANCE.md).
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Reduction

BENCHMARK = Benchmark(
    title="allreduce",
    kernel="allreduce",
    options=Reduction,
    ranks=(1, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.option("datatype"),
    metrics={
        "latency_us": lambda spec: 1,
        "busbw_GBps": lambda spec: 2 * (spec.ranks - 1) / spec.ranks * spec.size,
    },
    expected=lambda spec, rank, send: sum(send(r) for r in range(spec.ranks)),
    reduce="max",
    classics={"osu_allreduce": {}, "IMB-MPI1 Allreduce": {"cadence": "streaming"}},
)
