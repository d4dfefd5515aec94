"""Latency between many pairs at once: ping-pong, one-way time, rank r of the first half with rank r + ranks/2.

All pairs run at the same time without waiting for one another. The headline is the mean over pairs of each iteration,
as osu_multi_lat prints it (OMB 7.4, mpi/pt2pt/osu_multi_lat.c); the samples of every pair are kept.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import FromAny, first_half, from_peer, paired

BENCHMARK = KernelBenchmark(
    title="latency of many pairs",
    kernel="latency",
    options=FromAny,
    check=paired,
    ranks=(2, None),
    metrics={"latency_us": lambda spec: 2},
    active=first_half,
    expected=from_peer,
    reduce="mean",
    cadence="streaming",
    equivalents={"osu_multi_lat": {}},
)
