"""Latency of a persistent MPI_Reduce_scatter: set up once, untimed; an iteration starts it and waits.

MPI_Reduce_scatter_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation
lies between start and wait as in mpi.ireduce_scatter. The data are those of mpi.reduce_scatter. The test
osu_reduce_scatter_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.reduce_scatter import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Reduce_scatter", osu="reduce_scatter_persistent", imb="Reduce_scatter_persist")
