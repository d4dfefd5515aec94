"""Time of a Python function or command, as pyperf measured it: each of its processes is a launch.

The statistics of a launch are those of the values of one process, without warm-ups; a value is already over many
loops.
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
