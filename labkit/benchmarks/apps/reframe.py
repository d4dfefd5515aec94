"""Performance variables of ReFrame's tests, each under its own name and unit.

Only its test knows what a variable means: labkit keeps it as a reported value without a metric. `run_time_s` is the
time of the job as ReFrame saw it.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="ReFrame's performance variables",
    sized=False,
    metrics={"run_time_s": lambda spec: 1},
    quantities=("test",),
    logs={"ReFrame": {}},
    cadence="isolated",
)
