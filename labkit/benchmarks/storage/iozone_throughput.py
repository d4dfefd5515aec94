"""Throughput of several processes on a file each (IOzone ``-t``), test by test.

The bandwidth is the sum of what the processes saw, each over its own time. `parent_bandwidth_MBps` among the reported
values is over the time from the first start to the last end. The size is that of a record; ranks are processes.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="throughput of several processes (IOzone)",
    metrics={"bandwidth_MBps": lambda spec: 1},
    logs={"IOzone throughput": {}},
    cadence="streaming",
)
