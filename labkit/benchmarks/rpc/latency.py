"""Round trip of one call at a time over one connection, with gRPC or Apache Thrift.

A sample is the time from the start of the call to the end of its answer, with the work of the library: messages,
protocol, threads. With ``method=echo`` the answer has the same payload. So `sockets.tcp_rr` and `sockets.unix_rr` of
the same size show the cost that the library adds to the transport. Point-to-point latency of TF-gRPC-Bench (Biswas, Lu
and Panda, 2018) and the latency benchmark of the Apache Thrift Benchmarks (ATB; Li, Shi and Lu, SC 2021) are this loop.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options.rpc import Loop
from labkit.tools import grpc, grpcio, thrift, thrift_python

BENCHMARK = ToolBenchmark(
    title="RPC latency",
    options=Loop,
    sizes="64,1Ki,64Ki",
    max_size=_options.MOST_B,
    check=_options.check,
    metrics={"round_trip_us": lambda spec: 1},
    tools=(grpc.load, thrift.load, grpcio.load, thrift_python.load),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
