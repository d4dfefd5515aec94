"""Latency of shmem_collect32: the messages, of any size each, become one array on all PEs.

Each PE passes its size with the call, and the library determines the place of each message; here all sizes are equal.

A barrier (shmem_barrier_all) follows each iteration outside the timed part; the slowest PE counts.

OSU's mean over PEs is also given, as in osu_oshm_collect (OMB 7.4, openshmem/osu_oshm_collect.c).
"""

from labkit.benchmarks import shmem
from labkit.benchmarks.mpi import pieces

BENCHMARK = shmem.collective(
    title="collect of OpenSHMEM",
    kernel="shmem_collect",
    buffers=lambda spec: (spec.size, spec.size * spec.ranks),
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), 0),
    equivalents={"osu_oshm_collect": {}},
)
