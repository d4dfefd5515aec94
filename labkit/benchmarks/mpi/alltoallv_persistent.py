"""Latency of a persistent MPI_Alltoallv: set up once, untimed; an iteration starts it and waits.

MPI_Alltoallv_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.ialltoallv. The data are those of mpi.alltoallv. The test osu_alltoallv_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.alltoallv import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Alltoallv", osu="alltoallv_persistent", imb="Alltoallv_persist")
