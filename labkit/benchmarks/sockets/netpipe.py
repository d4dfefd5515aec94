"""NetPIPE's ladder: ping-pong over TCP of sizes that go up, and of some bytes less and more beside each.

One run gives every size, as reported values with the label ``block_size_B``: latency (half the round trip), round trip
and bandwidth of the best of several trials. The sizes beside a power of two (``perturbation``) show what alignment
costs. For one size as a point of its own there is ``sockets.tcp_rr`` with ``tool=netpipe``.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.point.units import parse_size
from labkit.tools import netpipe


@dataclass(frozen=True, kw_only=True)
class Options:
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


BENCHMARK = ToolBenchmark(
    title="NetPIPE's ladder",
    options=Options,
    sized=False,
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 1},
    tools=(netpipe.ladder,),
    cadence="streaming",
    ends=Ends(where="asked", sockets=True),
)
