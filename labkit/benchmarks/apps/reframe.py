"""Performance variables of ReFrame's tests, each under its own name and unit.

What a variable means only its test knows: labkit keeps it as a reported value and makes no metric of it. `run_time_s`
is the time of the job as ReFrame saw it.
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
