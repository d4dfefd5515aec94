"""Options of benchmarks of sockets that tools read."""

from typing import Literal

from labkit.options import frozen
from labkit.point.units import parse_size


@frozen
class Sockets:
    """Options of TCP and UDP.

    Parameters
    ----------
    ip : version of the internet protocol.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    """

    ip: Literal["ipv4", "ipv6"] = "ipv4"
    socket_buffer: int = 0


@frozen
class Tcp(Sockets):
    """Options of TCP.

    Parameters
    ----------
    congestion : TCP's congestion control at both ends, as the kernel names it; empty leaves it to the system.
    """

    congestion: str = ""


@frozen
class TcpStream(Tcp):
    """Options of TCP connections that send as fast as they can.

    Parameters
    ----------
    nodelay : set TCP_NODELAY; the tools leave it off.
    streams : connections at once, in each direction.
    """

    nodelay: bool = False
    streams: int = 1


@frozen
class TcpRr(Tcp):
    """Options of sockets.tcp_rr.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    nodelay : set TCP_NODELAY, so that nothing waits for an earlier answer; sockperf's default, not netperf's.
    """

    tool: Literal["auto", "netperf", "sockperf", "qperf", "iperf", "netpipe"] = "auto"
    nodelay: bool = True


@frozen
class UdpStream(Sockets):
    """Options of sockets.udp_stream.

    Parameters
    ----------
    tool : `auto` takes the first that is installed and can do it.
    streams : senders at once.
    offered : MB/s that all of them together are to send; 0 for as fast as they can.
    """

    tool: Literal["auto", "netperf", "iperf3", "iperf", "qperf"] = "auto"
    streams: int = 1
    offered: float = 0.0


@frozen
class UnderLoad:
    """Options of sockets.under_load.

    Parameters
    ----------
    message_rate : messages per second.
    protocol : tcp or udp.
    ip : version of the internet protocol; the tool has one only.
    nodelay : set TCP_NODELAY.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    """

    message_rate: int = 10_000
    protocol: Literal["tcp", "udp"] = "tcp"
    ip: Literal["ipv4"] = "ipv4"
    nodelay: bool = True
    socket_buffer: int = 0


@frozen
class UnderStreams(UnderLoad):
    """Options of sockets.under_streams.

    Parameters
    ----------
    streams : connections that send meanwhile, in each direction.
    congestion : their congestion control, as the kernel names it; empty leaves it to the system.
    message_rate : messages per second.
    protocol : of the messages.
    """

    message_rate: int = 200
    protocol: Literal["tcp", "udp"] = "udp"
    streams: int = 4
    congestion: str = ""


@frozen
class Netpipe:
    """Options of sockets.netpipe.

    Parameters
    ----------
    min_size, max_size : first and last size, B or with a unit (64Ki).
    perturbation : B less and more than each size that are measured too; 0 for none.
    repeats : of each size in a trial; 0 lets NetPIPE choose, so that a size takes about half a second.
    direction : there and back, one way only, or both ways at once.
    ip : version of the internet protocol; the tool has one only.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    """

    min_size: int | str = 1
    max_size: int | str = "64Ki"
    perturbation: int = 3
    repeats: int = 0
    direction: Literal["ping-pong", "stream", "both"] = "ping-pong"
    ip: Literal["ipv4"] = "ipv4"
    socket_buffer: int = 0

    def __post_init__(self) -> None:
        for name in ("min_size", "max_size"):
            object.__setattr__(self, name, parse_size(getattr(self, name)))


@frozen
class FabricPingpong:
    """Options of sockets.fabric_pingpong.

    Parameters
    ----------
    provider : as ``fi_info -l`` lists them.
    endpoint : kind of endpoint; `auto` takes the one that the provider offers.
    ip : version of the internet protocol of the control connection.
    """

    provider: str = "tcp"
    endpoint: Literal["auto", "msg", "rdm", "dgram"] = "auto"
    ip: Literal["ipv4", "ipv6"] = "ipv4"
