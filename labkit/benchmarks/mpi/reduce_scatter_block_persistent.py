"""Latency of a persistent MPI_Reduce_scatter_block: set up once, untimed; an iteration starts it and waits.

MPI_Reduce_scatter_block_init came with MPI 4.0; a library without it is told by name. With `overlap=True` a
computation lies between start and wait as in mpi.ireduce_scatter_block. The data are those of
mpi.reduce_scatter_block.
"""

from labkit.benchmarks.mpi._forms import persistent
from labkit.benchmarks.mpi.reduce_scatter_block import BENCHMARK as BLOCKING

BENCHMARK = persistent(BLOCKING, "Reduce_scatter_block")
