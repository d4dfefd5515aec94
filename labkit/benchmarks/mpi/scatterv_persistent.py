"""Latency of a persistent MPI_Scatterv: set up once, untimed; an iteration starts it and waits.

MPI_Scatterv_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.iscatterv. The data are those of mpi.scatterv. The test osu_scatterv_persistent.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.scatterv import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Scatterv", osu="scatterv_persistent", imb="Scatterv_persist")
