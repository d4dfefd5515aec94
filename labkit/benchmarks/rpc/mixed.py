"""Round trip of small calls while other clients send large ones to the same server, with gRPC or Apache Thrift.

After the mixed benchmark of the Apache Thrift Benchmarks (ATB; HatRPC by Li, Shi and Lu, SC 2021): small calls that
need a low latency beside large calls that need throughput. The survey (Li et al., 2022, section 4.3) names only ATB's
three categories, so sizes and numbers of clients are labkit's choice. A sample is one small call; the bandwidth of the
large ones (``send`` of `bulk_size` B, one at a time from each of `bulk_clients`) is reported. `rpc.latency` measures
these calls without other clients.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.rpc import _options
from labkit.options import frozen
from labkit.options.rpc import Bulk, Call, Clients
from labkit.tools import grpc, thrift


@frozen
class Options(Bulk, Clients, Call):
    """Options of rpc.mixed.

    Parameters
    ----------
    clients : clients with small calls.
    """

    clients: int = 1
    bulk_clients: int = 1
    bulk_size: int = 128 * 1024


BENCHMARK = ToolBenchmark(
    title="RPC latency under bulk calls",
    options=Options,
    sizes="512",
    max_size=_options.MOST_B,
    check=_options.check,
    metrics={"round_trip_us": lambda spec: 1},
    tools=(grpc.load, thrift.load),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="size of request and answer (B)",
)
