"""HTTP requests per second, and the time of one (wrk, wrk2, hey).

With wrk and hey a connection sends again after each answer: `round_trip_us`, without waiting time. With wrk2
requests are due at a fixed rate: `response_us`, from the moment a request was due; what it calls uncorrected is
`round_trip_us`.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="HTTP requests (wrk, wrk2, hey)",
    sized=False,
    metrics={
        "response_us": lambda spec: 1,
        "round_trip_us": lambda spec: 1,
        "transaction_rate_per_s": lambda spec: 1,
    },
    logs={"wrk": {"cadence": "streaming"}, "wrk2": {"cadence": "paced"}, "hey": {"cadence": "streaming"}},
    cadence="streaming",
    size_label="size of request and answer (B)",
)
