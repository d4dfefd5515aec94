"""Latency of a persistent MPI_Scan: set up once, untimed; an iteration starts it and waits.

MPI_Scan_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a computation lies between
start and wait as in mpi.iscan. The data are those of mpi.scan.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.scan import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Scan")
