"""Bandwidth of TCP connections that send as fast as they can.

The definition of netperf's TCP_STREAM: the message size is that of each call of ``send``, and the clock stops when the
receiver has everything. iperf3 stands in for it and gives the bandwidth over time and of each of several streams as
well; iperf counts what was written, qperf what arrived. None of them tells single calls apart: all values are the
tool's own.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.sockets._checks import stream
from labkit.tools import iperf, iperf3, netperf, qperf


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of sockets.tcp_stream.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    ip : version of the internet protocol.
    nodelay : set TCP_NODELAY; the tools leave it off.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    streams : connections at once.
    congestion : TCP's congestion control, as the kernel names it; empty leaves it to the system.
    """

    tool: Literal["auto", "netperf", "iperf3", "iperf", "qperf"] = "auto"
    ip: Literal["ipv4", "ipv6"] = "ipv4"
    nodelay: bool = False
    socket_buffer: int = 0
    streams: int = 1
    congestion: str = ""


BENCHMARK = ToolBenchmark(
    title="TCP stream",
    options=Options,
    sizes="1Ki:1Mi",
    max_size=2**20,
    check=stream,
    metrics={"bandwidth_MBps": lambda spec: spec.size},
    jobs=(netperf.tcp_stream, iperf3.tcp_stream, iperf.tcp_stream, qperf.tcp_stream),
    cadence="streaming",
)
