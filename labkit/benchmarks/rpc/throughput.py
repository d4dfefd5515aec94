"""Calls per second of several clients, with gRPC or Apache Thrift (closed loop).

Each client has its own connection and thread, and calls again when it has its answer: the throughput benchmark
of the Apache Thrift Benchmarks (ATB; Li, Shi and Lu, SC 2021). A sample is one call. The rate of all clients follows
from the mean time of a call (Little's law); the rate counted over the whole run is also reported.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options import frozen
from labkit.options.rpc import Clients, Loop
from labkit.tools import grpc, grpcio, thrift, thrift_python


@frozen
class Options(Clients, Loop):
    """Options of rpc.throughput."""

    clients: int = 4


BENCHMARK = ToolBenchmark(
    title="RPC throughput",
    options=Options,
    sizes="64,1Ki,64Ki",
    max_size=_options.MOST_B,
    check=_options.check,
    metrics={"transaction_rate_per_s": lambda spec: spec.options.clients, "round_trip_us": lambda spec: 1},
    tools=(grpc.load, thrift.load, grpcio.load, thrift_python.load),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
