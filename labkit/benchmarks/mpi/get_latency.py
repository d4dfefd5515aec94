"""Latency of MPI_Get: one message read from the window of another rank.

Under pscw and fence the ranks read from each other in turn and latency is half of that, as in osu_get_latency (OMB
7.4, mpi/one-sided/osu_get_latency.c). IMB-RMA Unidir_get, Bidir_get, One_get_all, All_get_all, Exchange_get,
Get_local and Get_all_local, and IMB-EXT Unidir_Get and Bidir_Get (fence), are the same call with other targets and
origins.

The headline is the median of single calls. osu_get_latency prints the mean of its whole loop instead, clock reads
included: labkit reports it as `latency_us_osu_mean`, and with `--format omb`.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a get",
    kernel="get",
    expected=_one_sided.got,
    exposed=_one_sided.exposes_nothing,
    completes=_one_sided.completes("flush", "flush_local"),
    equivalents={"osu_get_multi_lat": {}} | _one_sided.tests("get"),
    unlike=_one_sided.unlike("get"),
)
