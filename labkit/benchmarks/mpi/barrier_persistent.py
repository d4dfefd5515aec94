"""Latency of a persistent MPI_Barrier: set up once, untimed; an iteration starts it and waits.

MPI_Barrier_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.ibarrier. The data are those of mpi.barrier. The test osu_barrier_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.barrier import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Barrier", osu="barrier_persistent", imb="Barrier_persist")
