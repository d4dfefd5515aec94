"""Latency of MPI_Put: one message written into the window of another rank, and its completion.

With `flush` the completion at the target counts, with `flush_local` only that the buffer may be used again. Under
pscw and fence the ranks write to each other in turn and latency is half of that, as in osu_put_latency (OMB 7.4,
mpi/one-sided/osu_put_latency.c). IMB-RMA Unidir_put, Bidir_put, One_put_all, All_put_all, Exchange_put, Put_local and
Put_all_local, and IMB-EXT Unidir_Put and Bidir_Put (fence), are the same call with other targets and origins.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a put",
    kernel="put",
    exposed=_one_sided.put_where(answers=True),
    classics={
        "osu_put_latency": {},
        "IMB-RMA Unidir_put": {},
        "IMB-RMA Bidir_put": {"origins": "both"},
        "IMB-RMA One_put_all": {"targets": "all"},
        "IMB-RMA All_put_all": {"targets": "all", "origins": "both"},
        "IMB-RMA Exchange_put": {"targets": "neighbours", "origins": "both"},
        "IMB-RMA Put_local": {"synchronisation": "flush_local"},
        "IMB-RMA Put_all_local": {"targets": "all", "synchronisation": "flush_local"},
        "IMB-EXT Unidir_Put": {"memory": "create", "synchronisation": "fence"},
        "IMB-EXT Bidir_Put": {"memory": "create", "synchronisation": "fence", "origins": "both"},
    },
)
