"""Latency of MPI_Put: one message written into the window of another rank, and its completion.

With `flush` the completion at the target counts, with `flush_local` only that the buffer may be used again. Under
pscw and fence the ranks write to each other in turn and latency is half of that, as in osu_put_latency (OMB 7.4,
mpi/one-sided/osu_put_latency.c). IMB-RMA Unidir_put, Bidir_put, One_put_all, All_put_all, Exchange_put, Put_local and
Put_all_local, and IMB-EXT Unidir_Put and Bidir_Put (fence), are the same call with other targets and origins.

The headline is the median of single calls. osu_put_latency prints the mean of its whole loop instead, clock reads
included: labkit reports it as `latency_us_osu_mean`, and with `--format omb`. For an 8 B put over shared memory it is
1.5 times the median.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a put",
    kernel="put",
    exposed=_one_sided.put_where(answers=True),
    completes=_one_sided.completes("flush"),
    equivalents=_one_sided.tests("put"),
    unlike=_one_sided.unlike("put"),
)
