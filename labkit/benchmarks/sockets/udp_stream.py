"""UDP datagrams in one direction: sent, received and lost.

The definition of netperf's UDP_STREAM: the bandwidth counts what the receiver got. The sender may be faster, because
nothing limits it. With ``offered`` the sender keeps to a rate, which iperf3 and iperf can; they give the jitter too.
Datagrams may be lost at the sender's queue, on the way, or at the receiver's buffer, and these tools do not show where.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.benchmarks.sockets._streams import stream
from labkit.options.sockets import UdpStream
from labkit.point.spec import Spec
from labkit.tools import iperf, iperf3, netperf, qperf


def _check(spec: Spec[UdpStream]) -> str:
    offered = spec.options.offered
    if offered < 0:
        return f"offered={offered}, but it must be a rate above 0, or 0 for no limit. Set offered=0."
    return stream(spec)


BENCHMARK = ToolBenchmark(
    title="UDP stream",
    options=UdpStream,
    sizes="64:32Ki:*4",
    max_size=65507,
    check=_check,
    metrics={"bandwidth_MBps": lambda spec: spec.size},
    tools=(netperf.udp_stream, iperf3.udp_stream, iperf.udp_stream, qperf.udp_stream),
    logs={
        test: {}
        for test in ("netperf UDP_STREAM", "iperf3 UDP", "iperf UDP", "qperf udp_bw", "pScheduler throughput UDP")
    },
    cadence="streaming",
    ends=Ends(where="asked", sockets=True, datagrams=True),
    directions=1,
)
