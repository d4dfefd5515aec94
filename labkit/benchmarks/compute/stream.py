"""Bandwidth of memory in four kernels: copy, scale, add and triad of long arrays (STREAM by McCalpin).

STREAM's rate refers to the fastest repetition, so the bandwidth here is a maximum and no mean. The size refers to one
array. `run_time_s` is the time of a kernel over one pass.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="memory bandwidth (STREAM)",
    metrics={"bandwidth_MBps": lambda spec: 1, "run_time_s": lambda spec: 1},
    logs={f"STREAM {kernel}": {} for kernel in ("Copy", "Scale", "Add", "Triad")},
    timed=lambda spec, labels: float(spec.size * (2 if spec.options.kernel in ("copy", "scale") else 3)),
    cadence="streaming",
)
