"""Latency of MPI_Neighbor_alltoallw: every rank sends one message of its own to each of its neighbours.

Every rank times every iteration; the slowest rank counts, and the mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_neighbor_alltoallw (OMB 7.4);
`streaming` runs them back to back; `synchronised` starts each at a moment agreed on synchronised clocks. The counts are
all the same, so that the data are those of mpi.neighbor_alltoall.
"""

import dataclasses

from labkit.benchmarks.mpi.neighbor_alltoall import BENCHMARK as PLAIN

BENCHMARK = dataclasses.replace(
    PLAIN, title=f"{PLAIN.title}, w form", kernel="neighbor_alltoallw", equivalents={"osu_neighbor_alltoallw": {}}
)
