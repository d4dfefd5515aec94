"""Latency of a persistent MPI_Reduce: set up once, untimed; an iteration starts it and waits.

MPI_Reduce_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.ireduce. The data are those of mpi.reduce. The test osu_reduce_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.reduce import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Reduce", osu="reduce_persistent", imb="Reduce_persist")
