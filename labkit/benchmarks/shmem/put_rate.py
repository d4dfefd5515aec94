"""Message rate of shmem_putmem: a window of puts, each with its own buffers, and one shmem_quiet.

PE r of the first half puts into the memory of PE r + ranks/2, all pairs at once. As osu_oshm_put_mr (OMB 7.4,
openshmem/osu_oshm_put_mr.c) with `caches=cold`: it writes 200 MiB, times one window of each size, and adds up the rates
of the pairs. Here windows are repeated, and the rate counts all pairs over their mean time.
"""

from labkit.benchmarks import shmem

BENCHMARK = shmem.rate("osu_oshm_put_mr", title="message rate of OpenSHMEM puts", kernel="shmem_put_rate")
FORMS = {
    "put_nb_rate": shmem.rate(
        "osu_oshm_put_mr_nb",
        title="message rate of non-blocking OpenSHMEM puts",
        kernel="shmem_put_rate_nb",
        doc="""Message rate of shmem_putmem_nbi: a window of puts and one shmem_quiet.

As osu_oshm_put_mr_nb (OMB 7.4, openshmem/osu_oshm_put_mr_nb.c). See shmem.put_rate.
""",
    )
}
