"""Bandwidth of TCP connections that send as fast as they can.

The definition of netperf's TCP_STREAM: the message size is the size of each call of ``send``, and the clock stops when
the receiver has everything. Replacements: iperf3 also gives the bandwidth over time and of each stream; iperf counts
what was written, qperf what arrived. None of them distinguishes single calls: all values are the tool's own.
"""

from typing import Literal

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.benchmarks.sockets._streams import stream
from labkit.options import frozen
from labkit.options.sockets import TcpStream
from labkit.tools import iperf, iperf3, netperf, qperf


@frozen
class Options(TcpStream):
    """Options of sockets.tcp_stream.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    """

    tool: Literal["auto", "netperf", "iperf3", "iperf", "qperf"] = "auto"


BENCHMARK = ToolBenchmark(
    title="TCP stream",
    options=Options,
    sizes="1Ki:1Mi",
    max_size=2**20,
    check=stream,
    metrics={"bandwidth_MBps": lambda spec: spec.size},
    tools=(netperf.tcp_stream, iperf3.tcp_stream, iperf.tcp_stream, qperf.tcp_stream),
    logs={
        test: {}
        for test in (
            *("netperf TCP_STREAM", "netperf TCP_MAERTS", "iperf3 TCP", "iperf TCP", "qperf tcp_bw"),
            "pScheduler throughput TCP",
        )
    },
    cadence="streaming",
    ends=Ends(where="asked", sockets=True, one_call=True),
    directions=1,
)
