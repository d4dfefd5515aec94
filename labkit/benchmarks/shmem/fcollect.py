"""Latency of shmem_fcollect32: the messages of one size become one array on all PEs.

All sizes are the same, so each PE knows where its message goes.

A barrier (shmem_barrier_all) follows each iteration outside the timed part; the slowest PE counts.

OSU's mean over PEs is also given, as in osu_oshm_fcollect (OMB 7.4, openshmem/osu_oshm_fcollect.c).
"""

from labkit.benchmarks import shmem
from labkit.benchmarks.mpi import pieces

BENCHMARK = shmem.collective(
    title="fcollect of OpenSHMEM",
    kernel="shmem_fcollect",
    buffers=lambda spec: (spec.size, spec.size * spec.ranks),
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), 0),
    equivalents={"osu_oshm_fcollect": {}},
)
