"""Calls per second between workers and parameter servers, with the payload of a TensorFlow worker.

Every worker has a connection to every server and calls all of them at once. A sample is the time of one such step,
until the last answer ends. The rate counts the calls of all workers to all servers: the parameter server throughput of
TF-gRPC-Bench (Biswas, Lu and Panda, 2018). Servers are processes; workers are threads of one process, so on a testbed
all servers are on its first host and all workers on its second.
"""

from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options import frozen
from labkit.options.rpc import Workers
from labkit.point.spec import Spec
from labkit.tools import grpc, thrift


@frozen
class Options(Workers, _options.Tensors):
    """Options of rpc.parameter_server.

    Parameters
    ----------
    method : ``send`` pushes the payload, ``echo`` also pulls it.
    """

    method: Literal["echo", "send"] = "send"
    servers: int = 1
    workers: int = 1


def _calls(spec: Spec[Options]) -> float:
    return float(spec.options.servers * spec.options.workers)


BENCHMARK = ToolBenchmark(
    title="parameter server",
    options=Options,
    sized=False,
    check=_options.check,
    metrics={
        "transaction_rate_per_s": _calls,
        "bandwidth_MBps": lambda spec: _calls(spec) * _options.payload(spec),
        "round_trip_us": lambda spec: 1,
    },
    tools=(grpc.load, thrift.load),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
