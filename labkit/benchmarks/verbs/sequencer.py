"""A sequencer: a counter in the server's memory that clients raise by fetch-and-add; its processor does nothing.

`clients` requests are under way at once. All numbers given out must differ, and the counter must end at their count.
After RDMA-bench (Kalia et al., USENIX ATC 2016), as a program over pyverbs.
"""

from dataclasses import dataclass

from labkit.benchmarks import Benchmark
from labkit.benchmarks.verbs import scenario
from labkit.tools import pyverbs


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of verbs.sequencer.

    Parameters
    ----------
    clients : requests under way at once, up to 64.
    inline : B up to which data are copied with a request.
    mtu : B of the largest packet; 0 takes the largest.
    tclass : byte of DSCP and ECN in the packets; -1 leaves it.
    gid : place of the address in the device's table; -1 takes the RoCE v2 address for IPv4.
    """

    clients: int = 1
    inline: int = 0
    mtu: int = 0
    tclass: int = -1
    gid: int = -1


BENCHMARK = Benchmark(
    title="sequencer",
    options=Options,
    sizes="8",
    max_size=8,
    check=scenario,
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: spec.option("clients")},
    jobs=(pyverbs.sequencer,),
    cadence="streaming",
)
