"""An echo server: every request comes back; time of a request and requests per second.

Requests and answers travel by SEND over RC, UC or UD, or by WRITE over RC or UC into slots that the other end watches.
`clients` requests are under way at once. After RDMA-bench (Kalia et al., USENIX ATC 2016), as a program over pyverbs:
what it shows is how transports differ, not how fast a card is.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.benchmarks.verbs import scenario
from labkit.tools import pyverbs


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of verbs.echo.

    Parameters
    ----------
    request : what carries requests and answers.
    connection : service of the queue pairs.
    clients : requests under way at once, up to 64.
    inline : B up to which data are copied with a request.
    mtu : B of the largest packet; 0 takes the largest.
    tclass : byte of DSCP and ECN in the packets; -1 leaves it.
    gid : place of the address in the device's table; -1 takes the RoCE v2 address for IPv4.
    """

    request: Literal["send", "write"] = "send"
    connection: Literal["RC", "UC", "UD"] = "RC"
    clients: int = 1
    inline: int = 0
    mtu: int = 0
    tclass: int = -1
    gid: int = -1


BENCHMARK = Benchmark(
    title="echo server",
    options=Options,
    sizes="16:1Ki:*4",
    max_size=4096,
    check=scenario,
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: spec.option("clients")},
    jobs=(pyverbs.echo,),
    cadence="streaming",
)
