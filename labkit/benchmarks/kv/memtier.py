"""Sets and gets on redis or memcached per second, and their latencies at the client, as memtier_benchmark reports them.

`round_trip_us` is from the write of a request, or of a pipeline of them, to its answer. Each of ``threads`` has
``clients`` connections. `operation=OVERALL` has all operations. labkit does not run memtier_benchmark, which Debian 12
does not have: `kv.redis_benchmark` and `kv.closed_loop` put such a load on the same stores.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="key-value store (memtier_benchmark)",
    metrics={"transaction_rate_per_s": lambda spec: 1, "round_trip_us": lambda spec: 1},
    logs={"memtier_benchmark": {}},
    cadence="streaming",
    size_label="record size (B)",
)
