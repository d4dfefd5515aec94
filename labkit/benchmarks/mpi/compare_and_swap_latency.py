"""Latency of MPI_Compare_and_swap: replaces one element in another rank's window if it has the expected value.

The element has the size of the message, 4 or 8 B. As osu_cas_latency (OMB 7.4, mpi/one-sided/osu_cas_latency.c) and
IMB-RMA Compare_and_swap.

The headline is the median of single calls. osu_cas_latency prints the mean of its whole loop instead, clock reads
included: labkit reports it as `latency_us_osu_mean`, and with `--format omb`.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.latency(
    title="latency of a compare_and_swap",
    kernel="compare_and_swap",
    options=_one_sided.Element,
    compares=True,
    check=_one_sided.one_element,
    sizes="8",
    dtype=_one_sided.element,
    expected=_one_sided.got,
    exposed=_one_sided.put_where(answers=True),
    equivalents={"osu_cas_latency": {"memory": "allocate"}, "IMB-RMA Compare_and_swap": {"timing": "total"}},
)
