"""Bandwidth of TCP in both directions at once: the sum of both.

The ends send to one another as fast as they can, as mpi.bibandwidth does between ranks. iperf3's ``--bidir`` has
connections of its own for each direction and counts what arrived; iperf's ``--full-duplex`` sends both ways over each
connection and counts at the client, and so stands in for it. Each direction is kept with the label ``direction``.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.sockets._checks import stream
from labkit.tools import iperf, iperf3


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of sockets.tcp_bidirectional.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    ip : version of the internet protocol.
    nodelay : set TCP_NODELAY; the tools leave it off.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    streams : connections at once, with iperf3 in each direction.
    congestion : TCP's congestion control, as the kernel names it; empty leaves it to the system.
    """

    tool: Literal["auto", "iperf3", "iperf"] = "auto"
    ip: Literal["ipv4", "ipv6"] = "ipv4"
    nodelay: bool = False
    socket_buffer: int = 0
    streams: int = 1
    congestion: str = ""


BENCHMARK = ToolBenchmark(
    title="TCP in both directions",
    options=Options,
    sizes="1Ki:1Mi",
    max_size=2**20,
    check=stream,
    metrics={"bandwidth_MBps": lambda spec: 2 * spec.size},
    jobs=(iperf3.tcp_bidirectional, iperf.tcp_bidirectional),
    cadence="streaming",
)
