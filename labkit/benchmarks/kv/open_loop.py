"""Operations of a YCSB workload on redis or memcached that are due at a rate of their own (open loop).

Every client has a schedule: an operation is due whether or not the one before has been answered. A sample is the time
from the moment when the operation was due to the end of its answer: YCSB's ``Intended-`` latencies with ``-target``,
and wrk2's. `round_trip_us` is the same without what it waited at the client. Above the rate that the store can serve
the waiting grows as long as the run lasts; labkit then warns of an overload.

Workloads, keys and commands are those of `kv.closed_loop`.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.kv import _options
from labkit.point.spec import Spec
from labkit.tools import memcached, redis


@dataclass(frozen=True, kw_only=True)
class Options(_options.Loop):
    """Options of kv.open_loop.

    Parameters
    ----------
    rate : operations per second of all clients (YCSB's -target).
    arrivals : gaps between the operations of a client: ``constant``, as YCSB's and wrk2's, or ``poisson``.
    """

    rate: float = 1000.0
    arrivals: Literal["constant", "poisson"] = "constant"


def _check(spec: Spec[Options]) -> str:
    rate = spec.options.rate
    if not 0 < rate <= 1e6:
        return f"rate={rate:g}, but it must be above 0 and at most 1000000 per second. Set rate=1000."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="key-value store, open loop",
    options=Options,
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
