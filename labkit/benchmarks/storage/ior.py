"""Bandwidth of all ranks that read or write files (IOR).

Bytes of all tasks over the time from the first open to the last close. The size is that of one transfer. Repetitions
happen inside one start; the mean is that of their rates.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="parallel file access (IOR)",
    metrics={"bandwidth_MBps": lambda spec: 1, "iops_per_s": lambda spec: 1, "run_time_s": lambda spec: 1},
    logs={"IOR": {}},
    cadence="streaming",
)
