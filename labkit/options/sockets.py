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
    socket_buffer : size of the send and receive buffers, B; 0 for the system's default.
    """

    ip: Literal["ipv4", "ipv6"] = "ipv4"
    socket_buffer: int = 0


@frozen
class Tcp(Sockets):
    """Options of TCP.

    Parameters
    ----------
    congestion : TCP's congestion control at both ends, as the kernel names it; empty for the system's default.
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
    tool : `auto` selects the first installed one that supports the options.
    nodelay : set TCP_NODELAY, so no message waits for an earlier answer; sockperf's default, not netperf's.
    """

    tool: Literal["auto", "netperf", "sockperf", "qperf", "iperf", "netpipe"] = "auto"
    nodelay: bool = True


@frozen
class UdpStream(Sockets):
    """Options of sockets.udp_stream.

    Parameters
    ----------
    tool : `auto` selects the first installed one that supports the options.
    streams : senders at once.
    offered : total rate of all senders, MB/s; 0 for as fast as possible.
    multicast : send to a group that the receiver has joined, and count what arrives (iperf, IPv4).
    """

    tool: Literal["auto", "netperf", "iperf3", "iperf", "qperf"] = "auto"
    streams: int = 1
    offered: float = 0.0
    multicast: bool = False


@frozen
class UnderLoad:
    """Options of sockets.under_load.

    Parameters
    ----------
    message_rate : messages per second.
    protocol : tcp or udp.
    ip : version of the internet protocol; the tool supports only one.
    nodelay : set TCP_NODELAY.
    socket_buffer : size of the send and receive buffers, B; 0 for the system's default.
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
    streams : concurrent connections in each direction.
    congestion : their congestion control, as the kernel names it; empty for the system's default.
    message_rate : messages per second.
    protocol : protocol of the messages.
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
    perturbation : distance of two further sizes below and above each size, B; 0 for none.
    repeats : repeats of each size in a trial; with 0 NetPIPE chooses, for about half a second per size.
    direction : there and back, one way only, or both ways at once.
    ip : version of the internet protocol; the tool supports only one.
    socket_buffer : size of the send and receive buffers, B; 0 for the system's default.
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
