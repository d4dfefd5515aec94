"""Latency of a persistent MPI_Alltoall: set up once, untimed; an iteration starts it and waits.

MPI_Alltoall_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.ialltoall. The data are those of mpi.alltoall. The test osu_alltoall_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.alltoall import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Alltoall", osu="alltoall_persistent", imb="Alltoall_persist")
