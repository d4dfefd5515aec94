"""Latency of MPI_Bcast: one message from the root to all other ranks.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_bcast (OMB 7.4,
mpi/collective/blocking/osu_bcast.c); `streaming` runs them back to back, as IMB-MPI1 Bcast does.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Rooted, root_exists

BENCHMARK = Benchmark(
    title="broadcast",
    kernel="bcast",
    options=Rooted,
    check=root_exists,
    ranks=(2, None),
    sizes="1:1Mi",
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: spec.size},
    expected=lambda spec, rank, send: None if rank == spec.option("root") else send(spec.option("root")),
    reduce="max",
    work=lambda spec: {"root": spec.option("root")},
    classics={"osu_bcast": {}, "IMB-MPI1 Bcast": {"cadence": "streaming"}},
)
