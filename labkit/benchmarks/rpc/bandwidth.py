"""Bandwidth of calls to one server, several in flight over one connection, with gRPC or Apache Thrift.

A sample is the time of a window of calls that start together, until the last answer ends. gRPC carries them as streams
of one HTTP/2 connection; Thrift sends one request after the other and reads the answers in order. The answer has the
number of bytes that came (``method=send``). Point-to-point bandwidth of TF-gRPC-Bench (Biswas, Lu and Panda, 2018),
with labkit's usual window.
"""

from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options import frozen
from labkit.options.rpc import Call, InFlight
from labkit.tools import grpc, thrift


@frozen
class Options(InFlight, Call):
    """Options of rpc.bandwidth.

    Parameters
    ----------
    method : ``send`` answers with the number of bytes.
    """

    method: Literal["send"] = "send"
    window: int = 64


BENCHMARK = ToolBenchmark(
    title="RPC bandwidth",
    options=Options,
    sizes="1Ki,64Ki,1Mi",
    max_size=_options.MOST_B,
    check=_options.check,
    metrics={"bandwidth_MBps": lambda spec: spec.size * spec.options.window},
    tools=(grpc.load, thrift.load),
    cadence="windowed",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
