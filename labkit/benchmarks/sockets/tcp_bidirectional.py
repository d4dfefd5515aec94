"""Bandwidth of TCP in both directions at once: the sum of both.

The ends send to one another as fast as they can, as mpi.bibandwidth does between ranks. iperf3's ``--bidir`` uses
separate connections for each direction and counts what arrived. If it is missing, iperf's ``--full-duplex`` sends both
ways over each connection and counts at the client. Each direction is kept with the label ``direction``.
"""

from typing import Literal

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.benchmarks.sockets._streams import stream
from labkit.options import frozen
from labkit.options.sockets import TcpStream
from labkit.tools import iperf, iperf3


@frozen
class Options(TcpStream):
    """Options of sockets.tcp_bidirectional.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    """

    tool: Literal["auto", "iperf3", "iperf"] = "auto"


BENCHMARK = ToolBenchmark(
    title="TCP in both directions",
    options=Options,
    sizes="1Ki:1Mi",
    max_size=2**20,
    check=stream,
    metrics={"bandwidth_MBps": lambda spec: 2 * spec.size},
    tools=(iperf3.tcp_bidirectional, iperf.tcp_bidirectional),
    logs={"iperf3 TCP both": {}, "iperf TCP both": {}},
    cadence="streaming",
    ends=Ends(where="asked", sockets=True),
    directions=2,
)
