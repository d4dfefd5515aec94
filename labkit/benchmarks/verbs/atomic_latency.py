"""Latency of an atomic operation on 8 B of the other end's memory: from the post to the completion.

The definition of perftest's ib_atomic_lat. The processor of the other end does nothing.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import Verbs, check
from labkit.tools import perftest, pyverbs


@dataclass(frozen=True, kw_only=True)
class Options(Verbs):
    """Options of verbs.atomic_latency.

    Parameters
    ----------
    operation : add to the number there, or put another in its place if it is the one expected.
    """

    operation: Literal["fetch_and_add", "compare_and_swap"] = "fetch_and_add"


BENCHMARK = ToolBenchmark(
    title="atomic operation latency",
    options=Options,
    sizes="8",
    max_size=8,
    check=lambda spec: check(spec, "atomic"),
    metrics={"latency_us": lambda spec: 1},
    jobs=(perftest.atomic_latency, pyverbs.atomic_latency),
    cadence="streaming",
)
