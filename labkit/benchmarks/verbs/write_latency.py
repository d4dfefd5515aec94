"""Latency of RDMA WRITE: ping-pong in which each end watches its memory for the other's last byte, one-way time.

The definition of perftest's ib_write_lat: half the round trip. So are the samples. With `immediate` a write
takes a receive and gives a completion at the other end, which is what waits then.
"""

from dataclasses import dataclass

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import Verbs, check
from labkit.tools import perftest, pyverbs, qperf


@dataclass(frozen=True, kw_only=True)
class Options(Verbs):
    """Options of verbs.write_latency.

    Parameters
    ----------
    immediate : each write carries a number, takes a receive and gives a completion at the other end (pyverbs).
    buffers_in_turn : different buffers, one after the other (pyverbs).
    reuse : % of the messages that use the first buffer again, the others any of them (pyverbs).
    """

    immediate: bool = False
    buffers_in_turn: int = 1
    reuse: int = 0


BENCHMARK = ToolBenchmark(
    title="RDMA write latency",
    options=Options,
    sizes="2:64Ki",
    max_size=2**30,
    check=lambda spec: check(spec, "write"),
    metrics={"latency_us": lambda spec: 1},
    jobs=(perftest.write_latency, pyverbs.write_latency, qperf.write_latency),
    cadence="streaming",
)
