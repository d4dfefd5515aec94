"""Latency of SEND: ping-pong into posted receives, one-way time.

The definition of perftest's ib_send_lat: half the round trip. So are the samples. Over pyverbs every call goes
through Python. The cost of an empty call is stored with the samples.
"""

from dataclasses import dataclass

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import Verbs, check
from labkit.tools import perftest, pyverbs, qperf


@dataclass(frozen=True, kw_only=True)
class Options(Verbs):
    """Options of verbs.send_latency.

    Parameters
    ----------
    buffers_in_turn : different buffers, one after the other (pyverbs).
    reuse : % of the messages that use the first buffer again, the others any of them (pyverbs).
    """

    buffers_in_turn: int = 1
    reuse: int = 0


BENCHMARK = ToolBenchmark(
    title="SEND into a posted receive latency",
    options=Options,
    sizes="2:64Ki",
    max_size=2**30,
    check=lambda spec: check(spec, "send"),
    metrics={"latency_us": lambda spec: 1},
    jobs=(perftest.send_latency, pyverbs.send_latency, qperf.send_latency),
    cadence="streaming",
)
