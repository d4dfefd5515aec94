"""Latency of RDMA READ: from the post to the completion, which comes when the data are there.

The definition of perftest's ib_read_lat. The processor of the other end does nothing.
"""

from dataclasses import dataclass

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import Verbs, check
from labkit.tools import perftest, pyverbs, qperf


@dataclass(frozen=True, kw_only=True)
class Options(Verbs):
    """Options of verbs.read_latency.

    Parameters
    ----------
    buffers_in_turn : different buffers, one after the other (pyverbs).
    reuse : % of the messages that use the first buffer again, the others any of them (pyverbs).
    """

    buffers_in_turn: int = 1
    reuse: int = 0


BENCHMARK = ToolBenchmark(
    title="RDMA read latency",
    options=Options,
    sizes="2:64Ki",
    max_size=2**30,
    check=lambda spec: check(spec, "read"),
    metrics={"latency_us": lambda spec: 1},
    jobs=(perftest.read_latency, pyverbs.read_latency, qperf.read_latency),
    cadence="streaming",
)
