"""Figures of merit of Ramble's experiments, each under its own name and unit.

Only its application knows what a figure of merit means: labkit keeps it as a reported value without a metric.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="Ramble's figures of merit",
    sized=False,
    metrics={"run_time_s": lambda spec: 1},
    quantities=("experiment", "context"),
    logs={"Ramble": {}},
    cadence="isolated",
)
