"""Latency of a persistent MPI_Allgather: set up once, untimed; an iteration starts it and waits.

MPI_Allgather_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.iallgather. The data are those of mpi.allgather. The test osu_allgather_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.allgather import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Allgather", osu="allgather_persistent", imb="Allgather_persist")
