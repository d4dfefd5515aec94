"""Numbers that GPCNeT itself printed: its network tests in isolation and beside congestors.

`value` is GPCNeT's average over ranks and draws, `p99` the time (for a bandwidth the rate) that 99 % of the
iterations of all ranks keep. labkit's own `congestion.gpcnet_isolated` and `gpcnet_loaded` count the slowest rank of
each iteration, so they have other names. A bandwidth refers to one rank. Builds with ``VERBOSE`` also print the
congestors' own rates, alone and `beside` a network test.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="GPCNeT's own output",
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 1},
    quantities=("test",),
    logs={"GPCNeT isolated": {}, "GPCNeT loaded": {}},
    cadence="streaming",
)
