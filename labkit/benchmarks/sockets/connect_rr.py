"""Connections with one request and one response each, per second (netperf TCP_CRR).

A transaction is a new connection, a request, a response and the end of the connection.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="connect, request and response (TCP_CRR)",
    metrics={"transaction_rate_per_s": lambda spec: 1, "round_trip_us": lambda spec: 1},
    logs={"netperf TCP_CRR": {}},
    cadence="streaming",
)
