"""Round trip of one call with the payload of a TensorFlow worker: several buffers of mixed sizes.

A sample is the time of one call to its answer. `scheme` mixes small, medium and large buffers as the point-to-point
latency of TF-gRPC-Bench does (Biswas, Lu and Panda, 2018): ten buffers of 10 B, 10 KiB and 1 MiB by default.
``serialised=false`` sends them as raw slices without copies into a message, as TensorFlow does.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.tools import grpc, thrift

BENCHMARK = ToolBenchmark(
    title="RPC latency of tensors",
    options=_options.Tensors,
    sized=False,
    check=_options.check,
    metrics={"round_trip_us": lambda spec: 1},
    tools=(grpc.load, thrift.load),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
