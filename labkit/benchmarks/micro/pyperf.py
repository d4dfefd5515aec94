"""Time of a Python function or command, as pyperf measured it: each of its processes is a launch.

The statistics of a launch cover the values of one process, without warm-ups. A value is already a mean over many loops.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="Python benchmark (pyperf)",
    sized=False,
    metrics={"run_time_s": lambda spec: 1},
    quantities=("name",),
    logs={"pyperf": {}},
    cadence="streaming",
)
