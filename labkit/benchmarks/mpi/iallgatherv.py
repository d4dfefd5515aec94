"""Overlap of MPI_Iallgatherv with computation: how much of its time a rank can use.

An iteration measures the pure time (call and wait), then a computation of that length alone, then call, computation
and wait together; the latency is that total. Overlap is given by OSU's definition (what the pure time leaves of the
total without the computation) and by IMB's (the time saved, as a part of the longer of the two); `tests` spreads
calls of MPI_Test over the computation. The tests osu_iallgatherv or IMB-NBC Iallgatherv. The data are those of
mpi.allgatherv.
"""

from labkit.benchmarks.mpi._forms import nonblocking
from labkit.benchmarks.mpi.allgatherv import BENCHMARK as BLOCKING

BENCHMARK = nonblocking(BLOCKING, osu="iallgatherv", imb="Iallgatherv")
