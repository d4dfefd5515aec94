"""Latency of a persistent MPI_Gatherv: set up once, untimed; an iteration starts it and waits.

MPI_Gatherv_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.igatherv. The data are those of mpi.gatherv. The test osu_gatherv_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.gatherv import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Gatherv", osu="gatherv_persistent", imb="Gatherv_persist")
