"""Bandwidth of a stream over verbs while its sender computes: the processor time that is free before it drops.

A sample is a window of `tx_depth` messages: their posts, a computation of `compute_us`, and the wait for their
completions. In a sweep over that time, the bandwidth stays constant while the adapter moves the bytes without the
processor. The bandwidth test of host overhead in Liu et al. (2003), section 4.3; mpi.availability measures the same one
layer higher. The computation is a fixed number of steps in Python; its measured time is a separate column.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS, packet
from labkit.options.verbs import Availability
from labkit.point.spec import Spec
from labkit.tools import pyverbs


def _possible(spec: Spec[Availability]) -> str:
    """Why the options do not fit; empty if they do."""
    options = spec.options
    depth, moderation = options.tx_depth, options.cq_moderation
    if not 0 <= options.compute_us <= 1e6:
        return f"compute_us={options.compute_us}, but it must be 0 to 1000000. Set compute_us=0."
    if min(depth, moderation) < 1 or depth % moderation:
        return (
            f"tx_depth={depth}, cq_moderation={moderation}, but the second must divide the first. Set tx_depth=64, "
            "cq_moderation=16."
        )
    return packet(spec.size, options.mtu)


def _share(phases: Mapping[str, NDArray[np.int64]]) -> float:
    return float(100 * np.median(phases["compute_ns"] / np.maximum(phases["time_ns"], 1)))


BENCHMARK = ToolBenchmark(
    title="bandwidth of verbs while computing",
    options=Availability,
    sizes="64:64Ki:*4",
    max_size=2**30,
    check=_possible,
    metrics={
        "bandwidth_MBps": lambda spec: spec.size * spec.options.tx_depth,
        "message_rate_per_s": lambda spec: spec.options.tx_depth,
    },
    phases={"compute_ns": "compute_us"},
    derived={"available_percent": _share},
    tools=(pyverbs.availability,),
    cadence="windowed",
    ends=VERBS,
)
