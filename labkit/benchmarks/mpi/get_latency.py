"""Latency of MPI_Get: one message read from the window of another rank.

Under pscw and fence the ranks read from each other in turn and latency is half of that, as in osu_get_latency (OMB
7.4, mpi/one-sided/osu_get_latency.c). IMB-RMA Unidir_get, Bidir_get, One_get_all, All_get_all, Exchange_get,
Get_local and Get_all_local, and IMB-EXT Unidir_Get and Bidir_Get (fence), are the same call with other targets and
origins.

The headline is the median of single calls. osu_get_latency prints the mean of its whole loop instead, clock reads
included: that is `latency_us_osu_mean` here, and what `--format omb` prints.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a get",
    kernel="get",
    expected=_one_sided.got,
    exposed=_one_sided.exposes_nothing,
    equivalents={
        "osu_get_latency": {},
        "osu_get_multi_lat": {},
        "IMB-RMA Unidir_get": {"memory": "create", "timing": "total"},
        "IMB-RMA Bidir_get": {"memory": "create", "origins": "both", "timing": "total"},
        "IMB-RMA One_get_all": {"memory": "create", "targets": "all", "timing": "total"},
        "IMB-RMA All_get_all": {"memory": "create", "targets": "all", "origins": "both", "timing": "total"},
        "IMB-RMA Exchange_get": {"memory": "create", "targets": "neighbours", "origins": "both", "timing": "total"},
        "IMB-RMA Get_local": {"memory": "create", "synchronisation": "flush_local", "timing": "total"},
        "IMB-RMA Get_all_local": {
            "memory": "create",
            "targets": "all",
            "synchronisation": "flush_local",
            "timing": "total",
        },
        "IMB-EXT Unidir_Get": {"memory": "create", "synchronisation": "fence", "timing": "total"},
        "IMB-EXT Bidir_Get": {"memory": "create", "synchronisation": "fence", "origins": "both", "timing": "total"},
    },
    unlike=_one_sided.unlike("get"),
)
