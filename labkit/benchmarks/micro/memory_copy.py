"""Rate at which one core copies a message in memory with memcpy.

A sample copies at least 1 MiB, always between the same two buffers. So a small message comes from the caches, as in a
bandwidth test that reuses its buffer. A copied byte counts once; STREAM's copy counts it twice, read and written. The
rate bounds the bandwidth over shared memory and the loopback interface, where a core copies each byte at least once.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.point.spec import Spec
from labkit.point.units import MiB


def _copies(spec: Spec) -> int:
    """Copies of one sample."""
    return max(1, MiB // max(spec.size, 1))


BENCHMARK = KernelBenchmark(
    title="memory copy of one core",
    kernel="memory_copy",
    mpi=False,
    sizes="4Ki:64Mi:*4",
    check=lambda spec: "" if spec.size >= 64 else f"size={spec.size} B, but a copy needs 64 B or more. Set size=64.",
    metrics={"bandwidth_MBps": lambda spec: _copies(spec) * spec.size},
    expected=lambda spec, rank, send: send(rank),
    cadence="streaming",
    window=_copies,
)
