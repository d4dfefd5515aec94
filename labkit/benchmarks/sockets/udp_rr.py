"""Round trip of a request and its response in UDP datagrams, one at a time.

The definition of netperf's UDP_RR; sockperf's ping-pong and qperf's udp_lat, which report half, replace it,
converted. A datagram that is lost is not sent again: netperf then waits until the end. As in `sockets.tcp_rr`, the
next request waits for the answer (coordinated omission). With `multicast` request and response go through a group
that both ends have joined.
"""

from typing import Literal

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options import frozen
from labkit.options.sockets import Sockets
from labkit.tools import netperf, qperf, sockperf


@frozen
class Options(Sockets):
    """Options of sockets.udp_rr.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    multicast : send requests and responses to a multicast group (sockperf, IPv4).
    """

    tool: Literal["auto", "netperf", "sockperf", "qperf"] = "auto"
    multicast: bool = False


BENCHMARK = ToolBenchmark(
    title="UDP round trip",
    options=Options,
    sizes="1:32Ki",
    max_size=65507,
    check=lambda spec: "" if spec.size else "size=0, but a request has at least 1 B. Set size=1.",
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: 1},
    tools=(netperf.udp_rr, sockperf.udp_rr, qperf.udp_rr),
    logs={test: {} for test in ("netperf UDP_RR", "sockperf ping-pong udp", "qperf udp_lat")},
    cadence="streaming",
    ends=Ends(where="asked", sockets=True, datagrams=True),
    crossings=2,
)
