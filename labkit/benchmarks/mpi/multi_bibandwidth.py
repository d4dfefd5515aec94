"""Bandwidth both ways at once of many pairs, rank r of the first half with rank r + ranks/2.

The messages of all pairs and both directions over the mean time of the pairs, as IMB-MPI1 Biband counts with its
window of 256 messages.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Window, first_half, from_peer, paired

BENCHMARK = KernelBenchmark(
    title="bidirectional bandwidth of many pairs",
    kernel="bibandwidth",
    options=Window,
    check=paired,
    ranks=(2, None),
    window=lambda spec: spec.options.window,
    requests=lambda spec: 2 * spec.options.window,
    metrics={
        "bandwidth_MBps": lambda spec: spec.ranks // 2 * 2 * spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: spec.ranks // 2 * 2 * spec.options.window,
    },
    active=first_half,
    expected=from_peer,
    reduce="mean",
    cadence="windowed",
    warmup=(10, 2),
    equivalents={
        "IMB-MPI1 Biband": {"window": 256, "timing": "total"},
        "IMB-MT BiBandMT": {"window": 256, "threads": 2, "timing": "total"},
    },
)
