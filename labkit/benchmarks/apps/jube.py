"""Rows of JUBE's result tables, each value under its own name and unit.

What a column means only the author of the benchmark knows: labkit keeps it as a reported value and makes no metric of
it.
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
