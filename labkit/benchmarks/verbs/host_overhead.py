"""Processor time of a message over verbs: the time inside the calls that post and complete it.

A ping-pong of sends. The host's share of each round trip is the post of the message and of the next receive, the poll
that finds the answer, and the poll that finds the completion of the send; polls that find nothing are waiting, not
overhead. The latency test of host overhead in Liu et al. (2003), section 4.3; mpi.host_overhead measures the same one
layer higher. The calls go through Python. The time of an empty poll is kept beside the samples.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS, ping_pong
from labkit.options.verbs import PingPong
from labkit.tools import pyverbs

BENCHMARK = ToolBenchmark(
    title="host overhead of verbs",
    options=PingPong,
    sizes="2:64Ki",
    max_size=2**30,
    check=ping_pong,
    metrics={"latency_us": lambda spec: 1},
    phases={"overhead_ns": "overhead_us"},
    tools=(pyverbs.host_overhead,),
    cadence="streaming",
    ends=VERBS,
    crossings=1,
)
