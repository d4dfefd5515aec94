"""Latency of a persistent MPI_Exscan: set up once, untimed; an iteration starts it and waits.

MPI_Exscan_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies
between start and wait as in mpi.iexscan. The data are those of mpi.exscan.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.exscan import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Exscan")
