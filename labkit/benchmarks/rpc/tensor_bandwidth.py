"""Bandwidth of calls with the payload of a TensorFlow worker: several buffers of mixed sizes, answered by their length.

A sample is a window of calls (default: one), from the begin of the first to the end of the last answer. The
point-to-point bandwidth of TF-gRPC-Bench (Biswas, Lu and Panda, 2018): the worker sends one payload after the other.
"""

from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options import frozen
from labkit.options.rpc import InFlight
from labkit.tools import grpc, thrift


@frozen
class Options(InFlight, _options.Tensors):
    """Options of rpc.tensor_bandwidth.

    Parameters
    ----------
    method : ``send`` answers with the number of bytes.
    """

    method: Literal["send"] = "send"
    window: int = 1


BENCHMARK = ToolBenchmark(
    title="RPC bandwidth of tensors",
    options=Options,
    sized=False,
    check=_options.check,
    metrics={"bandwidth_MBps": lambda spec: _options.payload(spec) * spec.options.window},
    tools=(grpc.load, thrift.load),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
