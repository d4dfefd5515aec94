"""Latency of a persistent MPI_Bcast: set up once, untimed; an iteration starts it and waits.

MPI_Bcast_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies between
start and wait as in mpi.ibcast. The data are those of mpi.bcast. The test osu_bcast_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.bcast import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Bcast", osu="bcast_persistent", imb="Bcast_persist")
