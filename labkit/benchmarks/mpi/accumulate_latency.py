"""Latency of MPI_Accumulate: combines a vector with the content of another rank's window.

Under pscw and fence the ranks write to each other in turn and latency is half of that, as in osu_acc_latency (OMB
7.4, mpi/one-sided/osu_acc_latency.c); IMB-RMA Accumulate, and IMB-EXT Accumulate (fence).

The headline is the median of single calls. osu_acc_latency prints the mean of its whole loop instead, clock reads
included: labkit reports it as `latency_us_osu_mean`, and with `--format omb`.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of an accumulate",
    kernel="accumulate",
    options=_one_sided.Combining,
    sizes="4:4Mi",
    dtype=lambda spec: spec.options.datatype,
    exposed=_one_sided.combined_where,
    equivalents={
        "osu_acc_latency": {},
        "IMB-RMA Accumulate": {"memory": "create", "timing": "total"},
        "IMB-EXT Accumulate": {"memory": "create", "synchronisation": "fence", "timing": "total"},
    },
)
