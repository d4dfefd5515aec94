"""Options of benchmarks of congestion that tools read."""

from typing import Literal

from labkit.options import frozen


@frozen
class Incast:
    """Options of congestion.incast.

    Parameters
    ----------
    senders : hosts that send; on a single machine processes.
    streams : of each sender.
    duration : s that count; over TCP they send for 1 s before and after.
    congestion : TCP's congestion control, as the kernel names it; empty leaves it to the system.
    classes : traffic classes of RDMA streams in turn, as bytes of DSCP and ECN: `104:40`; empty for none.
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
    lead : s that the aggressor is ahead.
    aggressor_size : B of a datagram, a call, or a value of the halo; 0 for 1400, 128 KiB or 8.
    aggressor_ranks : of the halo; 0 for one on each of its hosts.
    cells : of the halo, along each side of a rank, with 8 variables and 216 µs of sleep.
    offered : MB/s of each flood; 0 for as fast as a host's link goes.
    streams : of each sender of the incast.
    """

    victim: Literal["fft", "latency", "allreduce"] = "fft"
    aggressor: Literal["halo3d26", "udp", "incast"] = "halo3d26"
    lead: float = 10.0
    aggressor_size: int = 0
    aggressor_ranks: int = 0
    cells: int = 100
    offered: float = 0.0
    streams: int = 8
