"""Latency of a persistent MPI_Allreduce: set up once, untimed; an iteration starts it and waits.

MPI_Allreduce_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.iallreduce. The data are those of mpi.allreduce. The test osu_allreduce_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.allreduce import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Allreduce", osu="allreduce_persistent", imb="Allreduce_persist")
