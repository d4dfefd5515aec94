"""Options of benchmarks of congestion that tools read."""

from typing import Literal

from labkit.options import frozen


@frozen
class Incast:
    """Options of congestion.incast.

    Parameters
    ----------
    senders : sending hosts, or processes on a single machine.
    streams : streams of each sender.
    duration : measured time, s; over TCP the streams also run for 1 s before and after.
    congestion : TCP's congestion control, as the kernel names it; empty for the system's default.
    classes : traffic classes assigned to RDMA streams in rotation, as bytes of DSCP and ECN: `104:40`; empty for none.
    """

    senders: int = 2
    streams: int = 1
    duration: int = 2
    congestion: str = ""
    classes: str = ""


@frozen
class Interference:
    """Options of congestion.interference.

    Parameters
    ----------
    victim : transposes of an `fft`, ping-pong `latency` or `allreduce`.
    aggressor : `halo3d26` between ranks, a flood of datagrams (`udp`) between pairs of hosts, or an `incast` of
        connections into its last host.
    lead : time by which the aggressor starts earlier, s.
    aggressor_size : B of a datagram, a call, or a value of the halo; 0 for 1400, 128 KiB or 8.
    aggressor_ranks : ranks of the halo; 0 for one on each of its hosts.
    cells : cells of the halo, along each side of a rank, with 8 variables and 216 µs of sleep.
    offered : rate of each flood, MB/s; 0 for the rate of a host's link.
    streams : streams of each sender of the incast.
    """

    victim: Literal["fft", "latency", "allreduce"] = "fft"
    aggressor: Literal["halo3d26", "udp", "incast"] = "halo3d26"
    lead: float = 10.0
    aggressor_size: int = 0
    aggressor_ranks: int = 0
    cells: int = 100
    offered: float = 0.0
    streams: int = 8
