"""Bandwidth of one TCP connection that sends as fast as it can.

The definition of netperf's TCP_STREAM: the message size is that of each call of ``send``, and the clock stops when the
receiver has everything. iperf3 stands in for it and gives the bandwidth over time as well. Neither
tells single calls apart: all values are the tool's own.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.tools import iperf3, netperf


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of sockets.tcp_stream.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    ip : version of the internet protocol.
    nodelay : set TCP_NODELAY; both tools leave it off.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    """

    tool: Literal["auto", "netperf", "iperf3"] = "auto"
    ip: Literal["ipv4", "ipv6"] = "ipv4"
    nodelay: bool = False
    socket_buffer: int = 0


BENCHMARK = Benchmark(
    title="TCP stream",
    options=Options,
    sizes="1Ki:1Mi",
    max_size=2**20,
    check=lambda spec: "" if spec.size else "size=0, but a call sends at least 1 B. Set size=65536.",
    metrics={"bandwidth_MBps": lambda spec: spec.size},
    jobs=(netperf.tcp_stream, iperf3.tcp_stream),
    cadence="streaming",
)
