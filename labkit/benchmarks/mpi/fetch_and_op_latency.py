"""Latency of MPI_Fetch_and_op: combines one element with another rank's window and returns the old value.

The element has the size of the message, 4 or 8 B. As osu_fop_latency (OMB 7.4, mpi/one-sided/osu_fop_latency.c) and
IMB-RMA Fetch_and_op.

The headline is the median of single calls. osu_fop_latency prints the mean of its whole loop instead, clock reads
included: labkit reports it as `latency_us_osu_mean`, and with `--format omb`.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a fetch_and_op",
    kernel="fetch_and_op",
    options=_one_sided.Atomic,
    check=_one_sided.one_element,
    sizes="8",
    dtype=_one_sided.element,
    expected=_one_sided.got,
    exposed=_one_sided.combined_where,
    equivalents={"osu_fop_latency": {"memory": "allocate"}, "IMB-RMA Fetch_and_op": {"timing": "total"}},
)
