"""Bandwidth both ways at once: each of two ranks sends a window to the other.

A sample is one window each way and the short answer; the bytes of both directions count. The definition of osu_bibw
(OMB 7.4, mpi/pt2pt/osu_bibw.c).
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Window, allowed, first_half, from_peer

BENCHMARK = Benchmark(
    title="bidirectional bandwidth",
    kernel="bibandwidth",
    options=Window,
    check=allowed,
    ranks=(2, 2),
    window=lambda spec: spec.option("window"),
    requests=lambda spec: 2 * spec.option("window"),
    metrics={
        "bandwidth_MBps": lambda spec: 2 * spec.option("window") * spec.size,
        "message_rate_per_s": lambda spec: 2 * spec.option("window"),
    },
    active=first_half,
    expected=from_peer,
    cadence="windowed",
    warmup=(10, 2),
    equivalents={"osu_bibw": {}},
)
