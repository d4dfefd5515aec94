"""Latency of a persistent MPI_Alltoallw: set up once, untimed; an iteration starts it and waits.

MPI_Alltoallw_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.ialltoallw. The data are those of mpi.alltoallw. The test osu_alltoallw_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.alltoallw import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Alltoallw", osu="alltoallw_persistent")
