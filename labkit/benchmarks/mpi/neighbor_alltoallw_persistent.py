"""Latency of a persistent MPI_Neighbor_alltoallw: set up once, untimed; an iteration starts it and waits.

MPI_Neighbor_alltoallw_init came with MPI 4.0; a library without it is told by name. The data are those of
mpi.neighbor_alltoallw.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.neighbor_alltoallw import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Neighbor_alltoallw")
