"""Latency of a persistent MPI_Gather: set up once, untimed; an iteration starts it and waits.

MPI_Gather_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.igather. The data are those of mpi.gather. The test osu_gather_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.gather import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Gather", osu="gather_persistent", imb="Gather_persist")
