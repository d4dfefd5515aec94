"""Latency of a persistent MPI_Neighbor_alltoall: set up once, untimed; an iteration starts it and waits.

MPI_Neighbor_alltoall_init came with MPI 4.0; a library without it is told by name. The data are those of
mpi.neighbor_alltoall.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.neighbor_alltoall import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Neighbor_alltoall")
