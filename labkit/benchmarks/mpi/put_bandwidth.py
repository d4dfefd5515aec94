"""Bandwidth of MPI_Put: a window of messages in one epoch.

A sample is one epoch of `window` calls. As osu_put_bw (OMB 7.4, mpi/one-sided/osu_put_bw.c). With many pairs, the
bandwidth is the bytes of all pairs over the mean time of the origins.

osu_put_bw prints the rate over its whole loop, clock reads included: that is `bandwidth_MBps_osu_mean` here, and what
`--format omb` prints; the headline is the median epoch.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.bandwidth(
    title="bandwidth of puts",
    kernel="put",
    exposed=_one_sided.put_where(answers=False),
    directions=1,
    equivalents={"osu_put_bw": {}},
)
