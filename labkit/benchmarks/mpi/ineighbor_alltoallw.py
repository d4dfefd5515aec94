"""Overlap of MPI_Ineighbor_alltoallw with computation: how much of its time a rank can use.

Pure time, computation alone, and both together, as in mpi.iallreduce; the test osu_ineighbor_alltoallw. The data are
those of mpi.neighbor_alltoallw.
"""

from labkit.benchmarks.mpi._forms import nonblocking
from labkit.benchmarks.mpi.neighbor_alltoallw import BENCHMARK as BLOCKING

BENCHMARK = nonblocking(BLOCKING, osu="ineighbor_alltoallw")
