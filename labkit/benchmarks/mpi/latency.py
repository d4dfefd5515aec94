"""One-way latency of a message between two ranks: half the round trip.

Rank 0 sends, rank 1 answers with a message of the same size, both blocking. The definition of osu_latency (OMB 7.4,
mpi/pt2pt/osu_latency.c) and of IMB-MPI1 PingPong; `timing=total` takes one time around the loop, as IMB does.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Timed

BENCHMARK = Benchmark(
    title="one-way latency",
    kernel="latency",
    options=Timed,
    ranks=(2, 2),
    sizes="0:4Mi",
    metrics={"latency_us": lambda spec: 2},
    expected=lambda spec, rank, send: send(1 - rank),
    cadence="streaming",
    classics={"osu_latency": {}, "IMB-MPI1 PingPong": {}},
)
