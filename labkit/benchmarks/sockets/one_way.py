"""Time of a packet from one host to another, as OWAMP measured it for perfSONAR.

Sender and receiver each read their own clock, so the value contains the difference of the two clocks. `clock_error_us`
is pScheduler's estimate of its maximum.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="one-way latency (OWAMP)",
    sized=False,
    metrics={"latency_us": lambda spec: 1, "lost_percent": lambda spec: 1},
    logs={"pScheduler latency": {}},
    cadence="isolated",
)
