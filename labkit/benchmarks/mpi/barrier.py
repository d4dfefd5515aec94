"""Latency of MPI_Barrier: no rank leaves before all have come.

Every rank times every iteration, back to back; the slowest rank counts, and OSU's mean over ranks is given beside it,
as in osu_barrier (OMB 7.4, mpi/collective/blocking/osu_barrier.c) and IMB-MPI1 Barrier. No bytes move, so none are
verified.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Timed

BENCHMARK = Benchmark(
    title="barrier",
    kernel="barrier",
    options=Timed,
    ranks=(2, None),
    sized=False,
    buffers=lambda spec: (0, 0),
    metrics={"latency_us": lambda spec: 1},
    reduce="max",
    cadence="streaming",
    classics={"osu_barrier": {}, "IMB-MPI1 Barrier": {}},
)
