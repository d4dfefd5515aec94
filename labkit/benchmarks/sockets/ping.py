"""Round trip of an echo request and its answer, as ping or twping measured it for perfSONAR.

The size refers to the data in a request. Requests are sent at intervals, one at a time.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="echo requests at intervals (perfSONAR)",
    metrics={"round_trip_us": lambda spec: 1, "lost_percent": lambda spec: 1},
    logs={"pScheduler rtt": {}},
    cadence="isolated",
)
