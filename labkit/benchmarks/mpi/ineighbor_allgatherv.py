"""Overlap of MPI_Ineighbor_allgatherv with computation: how much of its time a rank can use.

Pure time, computation alone, and both together, as in mpi.iallreduce; the test osu_ineighbor_allgatherv. The data are
those of mpi.neighbor_allgatherv.
"""

from labkit.benchmarks.mpi._forms import nonblocking
from labkit.benchmarks.mpi.neighbor_allgatherv import BENCHMARK as BLOCKING

BENCHMARK = nonblocking(BLOCKING, osu="ineighbor_allgatherv")
