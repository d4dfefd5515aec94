"""Bandwidth and message rate of many pairs at once, rank r of the first half sending to rank r + ranks/2.

A sample is one window of every pair: the messages of all pairs over the mean time of the pairs, as osu_mbw_mr counts
(OMB 7.4, mpi/pt2pt/osu_mbw_mr.c), and IMB-MPI1 Uniband with its window of 256 messages.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Window, first_half, from_active, paired

BENCHMARK = KernelBenchmark(
    title="bandwidth and message rate of many pairs",
    kernel="bandwidth",
    options=Window,
    check=paired,
    ranks=(2, None),
    window=lambda spec: spec.options.window,
    metrics={
        "bandwidth_MBps": lambda spec: spec.ranks // 2 * spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: spec.ranks // 2 * spec.options.window,
    },
    active=first_half,
    expected=from_active,
    reduce="mean",
    cadence="windowed",
    warmup=(10, 2),
    equivalents={
        "osu_mbw_mr": {},
        "IMB-MPI1 Uniband": {"window": 256, "timing": "total"},
        "IMB-MT UniBandMT": {"window": 256, "threads": 2, "timing": "total"},
    },
)
