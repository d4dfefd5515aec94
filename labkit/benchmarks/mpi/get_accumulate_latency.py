"""Latency of MPI_Get_accumulate: combines a vector with another rank's window and returns the old content.

Under pscw and fence the ranks do so in turn and latency is half of that, as in osu_get_acc_latency (OMB 7.4,
mpi/one-sided/osu_get_acc_latency.c); IMB-RMA Get_accumulate.

The headline is the median of single calls. osu_get_acc_latency prints the mean of its whole loop instead, clock reads
included: labkit reports it as `latency_us_osu_mean`, and with `--format omb`.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a get_accumulate",
    kernel="get_accumulate",
    options=_one_sided.Combining,
    sizes="4:4Mi",
    dtype=lambda spec: spec.options.datatype,
    expected=_one_sided.got,
    exposed=_one_sided.combined_where,
    equivalents={"osu_get_acc_latency": {}, "IMB-RMA Get_accumulate": {"memory": "create", "timing": "total"}},
)
