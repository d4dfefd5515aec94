"""Latency of a persistent MPI_Scatter: set up once, untimed; an iteration starts it and waits.

MPI_Scatter_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.iscatter. The data are those of mpi.scatter. The test osu_scatter_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.scatter import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Scatter", osu="scatter_persistent", imb="Scatter_persist")
