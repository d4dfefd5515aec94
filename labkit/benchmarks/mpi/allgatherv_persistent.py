"""Latency of a persistent MPI_Allgatherv: set up once, untimed; an iteration starts it and waits.

MPI_Allgatherv_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.iallgatherv. The data are those of mpi.allgatherv. The test
osu_allgatherv_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.allgatherv import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Allgatherv", osu="allgatherv_persistent", imb="Allgatherv_persist")
