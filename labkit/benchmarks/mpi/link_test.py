"""Ping-pong between all pairs of ranks, many pairs at once, as LinkTest measures it.

The time is one way: half the round trip, a mean over the messages of a pair. The statistics are over pairs, so the
slowest link shows in the maximum. mpi.all_pairs has every pair, and needs no LinkTest.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="links between all pairs (LinkTest)",
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 1},
    ranks=(2, None),
    logs={"LinkTest": {}},
    cadence="streaming",
)
