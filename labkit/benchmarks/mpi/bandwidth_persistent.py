"""Bandwidth from rank 0 to rank 1 with persistent requests.

As mpi.bandwidth, with the requests of the window set up once, untimed, and started together (MPI_Startall). The
definition of osu_bw_persistent (OMB 7.4, mpi/pt2pt/persistent).
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Window, allowed, first_half, from_active

BENCHMARK = Benchmark(
    title="bandwidth, persistent requests",
    kernel="bandwidth_persistent",
    options=Window,
    check=allowed,
    ranks=(2, 2),
    window=lambda spec: spec.option("window"),
    metrics={
        "bandwidth_MBps": lambda spec: spec.option("window") * spec.size,
        "message_rate_per_s": lambda spec: spec.option("window"),
    },
    active=first_half,
    expected=from_active,
    cadence="windowed",
    warmup=(10, 2),
    equivalents={"osu_bw_persistent": {}},
)
