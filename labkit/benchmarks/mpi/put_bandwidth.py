"""Bandwidth of MPI_Put: a window of messages in one epoch.

A sample is one epoch of `window` calls. As osu_put_bw (OMB 7.4, mpi/one-sided/osu_put_bw.c). Of many pairs the bytes
of all count, over the mean time of the origins.
"""

from labkit.benchmarks.mpi import _one_sided

BENCHMARK = _one_sided.bandwidth(
    title="bandwidth of puts",
    kernel="put",
    exposed=_one_sided.put_where(answers=False),
    classics={"osu_put_bw": {}},
)
