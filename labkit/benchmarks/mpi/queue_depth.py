"""Bandwidth with a bounded queue that is always at least half full.

The sender posts half a queue, then waits for the older half, and so on; a sample is half a queue. Unlike a window the
queue never runs empty. The bandwidth test of Liu et al., "Micro-benchmark level performance comparison of high-speed
cluster interconnects" (2003), section 4.1.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import TwoRanks, allowed, first_half, from_active
from labkit.options import frozen
from labkit.point.spec import Spec


@frozen
class Options(TwoRanks):
    """Options of mpi.queue_depth.

    Parameters
    ----------
    depth : most messages outstanding; even.
    """

    depth: int = 64


def _check(spec: Spec[Options]) -> str:
    depth = spec.options.depth
    if depth % 2 or not 2 <= depth <= 65536:
        return f"depth={depth}, but it must be even and 2 to 65536. Set depth=64."
    return allowed(spec)


BENCHMARK = KernelBenchmark(
    title="bandwidth with a bounded queue",
    kernel="queue",
    options=Options,
    check=_check,
    ranks=(2, 2),
    window=lambda spec: spec.options.depth,
    metrics={
        "bandwidth_MBps": lambda spec: spec.options.depth // 2 * spec.size,
        "message_rate_per_s": lambda spec: spec.options.depth // 2,
    },
    active=first_half,
    expected=from_active,
    cadence="streaming",
    directions=1,
    warmup=(10, 2),
)
