"""Message rate of shmem_getmem_nbi: a window of gets, each with its own buffers, and one shmem_quiet.

PE r of the first half gets from the memory of PE r + ranks/2, all pairs at once. As osu_oshm_get_mr_nb (OMB 7.4,
openshmem/osu_oshm_get_mr_nb.c). See shmem.put_rate.
"""

from labkit.benchmarks import shmem

BENCHMARK = shmem.rate(
    "osu_oshm_get_mr_nb",
    title="message rate of non-blocking OpenSHMEM gets",
    kernel="shmem_get_rate_nb",
    expected=shmem.got,
)
