"""Latency of MPI_Put: one message written into the window of another rank, and its completion.

With `flush` the completion at the target counts, with `flush_local` only that the buffer may be used again. Under
pscw and fence the ranks write to each other in turn and latency is half of that, as in osu_put_latency (OMB 7.4,
mpi/one-sided/osu_put_latency.c). IMB-RMA Unidir_put, Bidir_put, One_put_all, All_put_all, Exchange_put, Put_local and
Put_all_local, and IMB-EXT Unidir_Put and Bidir_Put (fence), are the same call with other targets and origins.

The headline is the median of single calls. osu_put_latency prints the mean of its whole loop instead, clock reads
included: that is `latency_us_osu_mean` here, and what `--format omb` prints. Of an 8 B put over shared memory it is
1.5 times the median.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a put",
    kernel="put",
    exposed=_one_sided.put_where(answers=True),
    equivalents={
        "osu_put_latency": {},
        "IMB-RMA Unidir_put": {"memory": "create", "timing": "total"},
        "IMB-RMA Bidir_put": {"memory": "create", "origins": "both", "timing": "total"},
        "IMB-RMA One_put_all": {"memory": "create", "targets": "all", "timing": "total"},
        "IMB-RMA All_put_all": {"memory": "create", "targets": "all", "origins": "both", "timing": "total"},
        "IMB-RMA Exchange_put": {"memory": "create", "targets": "neighbours", "origins": "both", "timing": "total"},
        "IMB-RMA Put_local": {"memory": "create", "synchronisation": "flush_local", "timing": "total"},
        "IMB-RMA Put_all_local": {
            "memory": "create",
            "targets": "all",
            "synchronisation": "flush_local",
            "timing": "total",
        },
        "IMB-EXT Unidir_Put": {"memory": "create", "synchronisation": "fence", "timing": "total"},
        "IMB-EXT Bidir_Put": {"memory": "create", "synchronisation": "fence", "origins": "both", "timing": "total"},
    },
    unlike=_one_sided.unlike("put"),
)
