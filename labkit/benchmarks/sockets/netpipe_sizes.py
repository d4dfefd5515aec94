"""NetPIPE's results, a point for each size: one-way time and bandwidth of the best of its trials.

NetPIPE also runs over MPI and other layers, and its file does not name the layer. `sockets.netpipe` is the ladder that
labkit runs itself.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="NetPIPE, size by size",
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 1},
    logs={"NetPIPE": {}},
    cadence="streaming",
)
