"""Bandwidth of MPI_Get: a window of messages in one epoch.

A sample is one epoch of `window` calls. As osu_get_bw (OMB 7.4, mpi/one-sided/osu_get_bw.c). With many pairs, the
bandwidth is the bytes of all pairs over the mean time of the origins.

osu_get_bw prints the rate over its whole loop, clock reads included: that is `bandwidth_MBps_osu_mean` here, and what
`--format omb` prints; the headline is the median epoch.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.bandwidth(
    title="bandwidth of gets",
    kernel="get",
    expected=_one_sided.got,
    exposed=_one_sided.exposes_nothing,
    directions=1,
    equivalents={"osu_get_bw": {}, "osu_get_mbw": {}},
)
