"""Pings and streams that run at the same time, as Flent recorded them: latency under load, among others.

Each series is a point: its name and the name of the test, such as ``rrul``, are coordinates. Round trips are those of
ICMP echo requests or UDP datagrams. A bandwidth refers to one stream, or to Flent's sum or average.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="pings and streams side by side (Flent)",
    sized=False,
    metrics={"round_trip_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 1},
    quantities=("test", "series"),
    logs={"Flent": {}},
    cadence="streaming",
)
