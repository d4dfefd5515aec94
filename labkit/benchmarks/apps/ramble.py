"""Figures of merit of Ramble's experiments, each under its own name and unit.

What a figure of merit means only its application knows: labkit keeps it as a reported value and makes no metric of it.
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
