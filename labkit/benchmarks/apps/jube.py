"""Rows of JUBE's result tables, each value under its own name and unit.

Only the author of the benchmark knows what a column means: labkit keeps it as a reported value without a metric.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="JUBE's result tables",
    sized=False,
    metrics={"run_time_s": lambda spec: 1},
    quantities=("table",),
    logs={"JUBE": {}},
    cadence="isolated",
)
