"""Two messages in opposite directions over verbs: both ends send at once, and each waits for the other's message.

A sample is the time until the other end's message has arrived and the own one is complete, not halved. The
bi-directional latency test of Liu et al. (2003), section 4.2; mpi.pingping measures the same one layer higher. The
calls go through Python.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS, ping_pong
from labkit.options.verbs import PingPong
from labkit.tools import pyverbs

BENCHMARK = ToolBenchmark(
    title="ping-ping of verbs",
    options=PingPong,
    sizes="2:64Ki",
    max_size=2**30,
    check=ping_pong,
    metrics={"latency_us": lambda spec: 1},
    tools=(pyverbs.pingping,),
    cadence="streaming",
    ends=VERBS,
)
