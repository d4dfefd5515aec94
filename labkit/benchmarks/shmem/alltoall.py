"""Latency of shmem_alltoall32: every PE sends its own message to every PE.

A barrier (shmem_barrier_all) follows each iteration outside the timed part; the slowest PE counts.

The survey of 2022 shows it in figure 9. OMB 7.4 has no such test.
"""

from labkit.benchmarks import shmem
from labkit.benchmarks.mpi import pieces

BENCHMARK = shmem.collective(
    title="all-to-all of OpenSHMEM",
    kernel="shmem_alltoall",
    buffers=lambda spec: (spec.size * spec.ranks, spec.size * spec.ranks),
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), rank * spec.size),
)
