"""Operations on a key-value store per second, and their latencies at the client (YCSB, go-ycsb).

`round_trip_us` is from the call of an operation to its return. `response_us` counts from the moment it was due
(``measurement.interval=intended``). The rate of `operation=OVERALL` is that of all operations over the run time.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="key-value store (YCSB)",
    sized=False,
    metrics={
        "transaction_rate_per_s": lambda spec: 1,
        "round_trip_us": lambda spec: 1,
        "response_us": lambda spec: 1,
    },
    logs={"YCSB": {}, "go-ycsb": {}},
    cadence="streaming",
)
