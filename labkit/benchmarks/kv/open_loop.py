"""Operations of a YCSB workload on redis or memcached that are due at a given rate (open loop).

Every client has a schedule: an operation is due whether or not the one before has been answered. A sample is the time
from the moment when the operation was due to the end of its answer: YCSB's ``Intended-`` latencies with ``-target``,
and wrk2's. `round_trip_us` excludes the waiting time at the client. If the rate is higher than the store can serve,
waiting grows until the end of the run; labkit then warns of an overload.

Workloads, keys and commands are the same as in `kv.closed_loop`.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.kv import _options
from labkit.options.kv import OpenLoop
from labkit.point.spec import Spec
from labkit.tools import memcached, redis


def _check(spec: Spec[OpenLoop]) -> str:
    rate = spec.options.rate
    if not 0 < rate <= 1e6:
        return f"rate={rate:g}, but it must be above 0 and at most 1000000 per second. Set rate=1000."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="key-value store, open loop",
    options=OpenLoop,
    sizes="1000",
    max_size=500_000,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(redis.open_loop, memcached.open_loop),
    cadence="paced",
    ends=_options.ENDS,
    size_label="record size (B)",
)
