"""Calls that are due at a given rate, with gRPC or Apache Thrift (open loop).

Every client has a schedule: a call is due whether or not the one before has been answered. A sample is the time from
the moment when the call was due to the end of its answer (wrk2's corrected latency, YCSB's ``Intended-``), so waiting
time counts (no coordinated omission). `round_trip_us` excludes the waiting time at the client. If the rate is higher
than the server can serve, waiting grows until the end of the run; labkit then warns of an overload.
"""

from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options import frozen
from labkit.options.rpc import Call, Clients, Paced
from labkit.point.spec import Spec
from labkit.tools import grpc, thrift


@frozen
class Options(Paced, Clients, Call):
    """Options of rpc.open_loop."""

    clients: int = 4
    rate: float = 1000.0
    arrivals: Literal["constant", "poisson"] = "poisson"


def _check(spec: Spec[Options]) -> str:
    rate = spec.options.rate
    if not 0 < rate <= 1e6:
        return f"rate={rate:g}, but it must be above 0 and at most 1000000 per second. Set rate=1000."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="RPC, open loop",
    options=Options,
    sizes="64",
    max_size=_options.MOST_B,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(grpc.load, thrift.load),
    cadence="paced",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
