"""Rate at which one core copies a message that another core has just written.

Two threads on two cores share a buffer. One thread writes every cache line, then the other copies the buffer with
memcpy. Only the copy is timed. So the bytes come from the cache of the other core, as in a message from another
process. `micro.memory_copy` copies the same buffer again and again, from the cache of its own core. A sample copies at
least 32 KiB, small messages from their own buffers.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.micro._cores import Cores, chosen, two
from labkit.point.spec import Spec
from labkit.point.units import KiB


def _copies(spec: Spec) -> int:
    """Copies of one sample."""
    return max(1, 32 * KiB // max(spec.size, 1))


def _check(spec: Spec[Cores]) -> str:
    """What is wrong with option and size; empty if nothing is."""
    small = f"size={spec.size} B, but a copy needs 64 B or more. Set size=64." if spec.size < 64 else ""
    return two(spec) or small


BENCHMARK = KernelBenchmark(
    title="memory copy from another core",
    kernel="core_to_core_copy",
    mpi=False,
    options=Cores,
    sizes="4Ki:64Mi:*4",
    check=_check,
    metrics={"bandwidth_MBps": lambda spec: _copies(spec) * spec.size},
    expected=lambda spec, rank, send: send(rank),
    cadence="streaming",
    window=_copies,
    apart=True,
    work=lambda spec: dict(zip(("left", "right"), chosen(spec), strict=True)),
)
