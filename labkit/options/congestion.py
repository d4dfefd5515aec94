"""Options of benchmarks of congestion that tools read."""

from labkit.options import frozen


@frozen
class Incast:
    """Options of congestion.incast.

    Parameters
    ----------
    senders : hosts that send; on a single machine processes.
    streams : of each sender.
    duration : s that they send for.
    congestion : TCP's congestion control, as the kernel names it; empty leaves it to the system.
    classes : traffic classes of RDMA streams in turn, as bytes of DSCP and ECN: `104:40`; empty for none.
    """

    senders: int = 2
    streams: int = 1
    duration: int = 2
    congestion: str = ""
    classes: str = ""
