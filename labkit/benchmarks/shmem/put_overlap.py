"""Overlap of a put with computation: shmem_putmem_nbi, computation, shmem_quiet.

A sample is the time of all three. The phases are the times of shmem_putmem and shmem_quiet alone (pure), of the
computation in between, and of the same computation alone. The computation is as long as the pure time was in the
warm-up. As osu_oshm_put_overlap (OMB 7.4, openshmem/osu_oshm_put_overlap.c), which measures all pure times first, and
computes for a given time where labkit computes a given amount. Its overlap is defined as in OSU's non-blocking
collectives. OSU's computation ends when a clock of 1 µs has moved on, so the next put falls between two of its steps:
for puts that take less than a few µs OSU prints anything from 0 to 100 %.
"""

from labkit.benchmarks import shmem
from labkit.benchmarks.mpi._forms import OVERLAP, PHASES

BENCHMARK = shmem.pair(
    title="overlap of an OpenSHMEM put",
    kernel="shmem_put_overlap",
    options=shmem.Overlapped,
    phases=PHASES,
    derived={"overlap_osu_percent": OVERLAP["overlap_osu_percent"]},
    equivalents={"osu_oshm_put_overlap": {}},
)
