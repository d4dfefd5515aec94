"""Latency of shmem_barrier over all PEs: no PE leaves before all have entered, and all puts are complete.

Every PE times every iteration, back to back; the slowest counts. OSU's mean over PEs is also given, as in
osu_oshm_barrier (OMB 7.4, openshmem/osu_oshm_barrier.c). No bytes move, so none are verified.
"""

from labkit.benchmarks import shmem

BENCHMARK = shmem.collective(
    title="barrier of OpenSHMEM",
    kernel="shmem_barrier",
    sized=False,
    sizes="1:1Mi",
    buffers=lambda spec: (0, 0),
    check=lambda spec: "",
    cadence="streaming",
    equivalents={"osu_oshm_barrier": {}},
)
