"""Latency with persistent requests: ping-pong, one-way time.

Send and receive are set up once, untimed; an iteration starts them and waits. The definition of
osu_latency_persistent (OMB 7.4, mpi/pt2pt/persistent).
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Pair, allowed, first_half, from_peer

BENCHMARK = Benchmark(
    title="latency, persistent requests",
    kernel="latency_persistent",
    options=Pair,
    check=allowed,
    ranks=(2, 2),
    requests=lambda spec: 2,
    metrics={"latency_us": lambda spec: 2},
    active=first_half,
    expected=from_peer,
    cadence="streaming",
    equivalents={"osu_latency_persistent": {}},
)
