"""Processor time of a message over verbs: the time inside the calls that post and complete it.

A ping-pong of sends. Of each round trip the host's share is the post of the message and of the next receive, the poll
that finds the answer, and the poll that finds the completion of the send; polls that find nothing are waiting, not
overhead. The latency test of host overhead in Liu et al. (2003), section 4.3; mpi.host_overhead is the same one layer
above. The calls go through Python. The time of an empty poll is kept beside the samples.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import MTUS, VERBS
from labkit.options.verbs import HostOverhead
from labkit.point.spec import Spec
from labkit.tools import pyverbs


def _possible(spec: Spec[HostOverhead]) -> str:
    """Why the size or the packet does not fit; empty if they do."""
    connection, mtu = spec.options.connection, spec.options.mtu
    if not spec.size:
        return "size=0, but a message has at least 1 B. Set size=8."
    if mtu not in MTUS:
        return f"mtu={mtu}, but a packet has {', '.join(map(str, MTUS[1:]))} B. Set one of these, or 0."
    if connection == "UD" and spec.size > (mtu or MTUS[-1]):
        return (
            f"size={spec.size} B, but a UD message holds at most one packet of {mtu or MTUS[-1]} B. Set connection=RC."
        )
    return ""


BENCHMARK = ToolBenchmark(
    title="host overhead of verbs",
    options=HostOverhead,
    sizes="2:64Ki",
    max_size=2**30,
    check=_possible,
    metrics={"latency_us": lambda spec: 1},
    phases={"overhead_ns": "overhead_us"},
    tools=(pyverbs.host_overhead,),
    cadence="streaming",
    ends=VERBS,
    crossings=1,
)
