"""A key-value store as HERD has it: requests by WRITE into slots that the server watches, answers by SEND over UD.

Of 20 requests 19 read a key and one writes one, of 128 keys; every value read must be the key's own. `clients` requests
are under way at once. After HERD and RDMA-bench (Kalia et al., SIGCOMM 2014 and USENIX ATC 2016), as a program over
pyverbs.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.benchmarks.verbs import scenario
from labkit.tools import pyverbs


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of verbs.key_value.

    Parameters
    ----------
    connection : service of the queue pairs that requests are written over.
    clients : requests under way at once, up to 64.
    inline : B up to which data are copied with a request.
    mtu : B of the largest packet; 0 takes the largest.
    tclass : byte of DSCP and ECN in the packets; -1 leaves it.
    gid : place of the address in the device's table; -1 takes the RoCE v2 address for IPv4.
    """

    connection: Literal["RC", "UC"] = "UC"
    clients: int = 1
    inline: int = 0
    mtu: int = 0
    tclass: int = -1
    gid: int = -1


BENCHMARK = Benchmark(
    title="key-value store",
    options=Options,
    sizes="16:1Ki:*4",
    max_size=4096,
    check=scenario,
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: spec.option("clients")},
    jobs=(pyverbs.key_value,),
    cadence="streaming",
)
