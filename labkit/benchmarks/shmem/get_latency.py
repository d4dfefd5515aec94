"""Latency of shmem_getmem: one message read from the memory of another PE; it has arrived when the call returns.

The peer waits in shmem_barrier_all. As osu_oshm_get (OMB 7.4, openshmem/osu_oshm_get.c) with `timing=total`, the time
of the whole loop over its iterations.
"""

from labkit.benchmarks import shmem

BENCHMARK = shmem.pair(
    title="latency of an OpenSHMEM get",
    kernel="shmem_get",
    expected=shmem.got,
    equivalents={"osu_oshm_get": {"timing": "total"}},
)
FORMS = {
    "get_nb_latency": shmem.pair(
        title="latency of a non-blocking OpenSHMEM get",
        kernel="shmem_get_nb",
        expected=shmem.got,
        equivalents={"osu_oshm_get_nb": {"timing": "total"}},
        doc="""Latency of shmem_getmem_nbi and shmem_quiet, which completes it.

As osu_oshm_get_nb (OMB 7.4, openshmem/osu_oshm_get_nb.c) with `timing=total`. See shmem.get_latency. The text of
osu_oshm_get_nb has the title of osu_oshm_get, so labkit imports it as that.
""",
    )
}
