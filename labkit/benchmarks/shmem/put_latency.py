"""Latency of shmem_putmem: one message written into the memory of another PE, and shmem_quiet, which completes it.

The peer waits in shmem_barrier_all. As osu_oshm_put (OMB 7.4, openshmem/osu_oshm_put.c), which prints the time of its
whole loop over its iterations: that is `timing=total`. With `timing=each` a time contains two clock reads, 20 to 60 ns
together. A small put in shared memory takes as long. OSU's test has both PEs write their buffers before the loop, and
warms up with 1000 puts up to 8 KiB and none above. `binding` selects the C kernel or Python with shmem4py.
"""

from labkit.benchmarks import shmem

BENCHMARK = shmem.pair(
    title="latency of an OpenSHMEM put", kernel="shmem_put", equivalents={"osu_oshm_put": {"timing": "total"}}
)
FORMS = {
    "put_nb_latency": shmem.pair(
        title="latency of a non-blocking OpenSHMEM put",
        kernel="shmem_put_nb",
        equivalents={"osu_oshm_put_nb": {"timing": "total"}},
        doc="""Latency of shmem_putmem_nbi and shmem_quiet: the put may return before the message has left.

As osu_oshm_put_nb (OMB 7.4, openshmem/osu_oshm_put_nb.c) with `timing=total`. See shmem.put_latency.
""",
    )
}
