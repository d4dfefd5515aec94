"""Overlap of MPI_Ineighbor_alltoallv with computation: how much of its time a rank can use.

Pure time, computation alone, and both together, as in mpi.iallreduce; the test osu_ineighbor_alltoallv. The data are
those of mpi.neighbor_alltoallv.
"""

from labkit.benchmarks.mpi._forms import nonblocking
from labkit.benchmarks.mpi.neighbor_alltoallv import BENCHMARK as BLOCKING

BENCHMARK = nonblocking(BLOCKING, osu="ineighbor_alltoallv")
