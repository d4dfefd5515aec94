"""Latency of MPI_Scatter: the root sends one message to every rank.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_scatter (OMB 7.4,
mpi/collective/blocking/osu_scatter.c); `streaming` runs them back to back, as IMB-MPI1 Scatter does. The size is that
of one rank's message. Bus bandwidth is (n-1) times size over time (nccl-tests).
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Rooted, root_exists

BENCHMARK = Benchmark(
    title="scatter",
    kernel="scatter",
    options=Rooted,
    check=root_exists,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size * spec.ranks, spec.size),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: (spec.ranks - 1) * spec.size},
    expected=lambda spec, rank, send: send(spec.option("root"))[rank * spec.size : (rank + 1) * spec.size],
    work=lambda spec: {"root": spec.option("root")},
    reduce="max",
    classics={"osu_scatter": {}, "IMB-MPI1 Scatter": {"cadence": "streaming"}},
)
