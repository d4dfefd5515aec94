"""Options that benchmarks of sockets share, and the check of a stream."""

from dataclasses import dataclass
from typing import Literal, Protocol

from labkit.point.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Sockets:
    """Options of TCP and UDP.

    Parameters
    ----------
    ip : version of the internet protocol.
    socket_buffer : B to send and to receive; 0 leaves it to the system.
    """

    ip: Literal["ipv4", "ipv6"] = "ipv4"
    socket_buffer: int = 0


@dataclass(frozen=True, kw_only=True)
class Tcp(Sockets):
    """Options of TCP.

    Parameters
    ----------
    congestion : TCP's congestion control at both ends, as the kernel names it; empty leaves it to the system.
    """

    congestion: str = ""


@dataclass(frozen=True, kw_only=True)
class TcpStream(Tcp):
    """Options of TCP connections that send as fast as they can.

    Parameters
    ----------
    nodelay : set TCP_NODELAY; the tools leave it off.
    streams : connections at once, in each direction.
    """

    nodelay: bool = False
    streams: int = 1


class Streams(Protocol):
    """Options of several streams at once."""

    @property
    def streams(self) -> int: ...


def stream(spec: Spec[Streams]) -> str:
    """Say what no tool can do: empty messages, fewer than one stream, or a negative rate."""
    if not spec.size:
        return "size=0, but a call sends at least 1 B. Set size=65536."
    if spec.options.streams < 1:
        return f"streams={spec.options.streams}, but there must be at least 1. Set streams=1."
    return ""
