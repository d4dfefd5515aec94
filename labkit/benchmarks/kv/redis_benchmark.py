"""Requests of one command to redis, as redis-benchmark counts them: clients send again after each answer.

The size refers to a value (redis-benchmark's ``-d``). Keys are drawn uniformly from `records` (``-r``).
`kv.closed_loop` runs YCSB's workloads against the same server, and keeps every time. Values that imported CSV does not
state are 0.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.kv import RedisBenchmark
from labkit.point.spec import Spec
from labkit.tools import redis_benchmark


def _check(spec: Spec[RedisBenchmark]) -> str:
    if not spec.size:
        return "size=0, but a value has at least 1 B. Set size=1000."
    for name, most in (("clients", 1000), ("records", 10_000_000), ("pipeline", 1000), ("server_threads", 64)):
        if not 1 <= spec.values[name] <= most:
            return f"{name}={spec.values[name]}, but it must be 1 to {most}. Set {name}=1."
    if spec.transport not in ("auto", "tcp", "unix"):
        return f"transport={spec.transport}, but redis listens on tcp or unix. Set transport=tcp."
    return ""


BENCHMARK = ToolBenchmark(
    title="redis-benchmark",
    options=RedisBenchmark,
    sizes="3,1000",
    max_size=100_000_000,
    check=_check,
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: 1},
    tools=(redis_benchmark.closed_loop,),
    logs={"redis-benchmark": dict.fromkeys(("clients", "records", "pipeline", "server_threads"), 0)},
    cadence="streaming",
    ends=Ends(where="apart", transports=True),
    size_label="record size (B)",
)
