"""MPI-IO: MPI_File_open and MPI_File_close of one file by all ranks, without any data between them.

The time of the slowest rank. The definition of IMB-IO Open_Close.
"""

from labkit.benchmarks import FileBenchmark
from labkit.options import frozen
from labkit.options.ranks import Buffers, Folder


@frozen
class Options(Folder, Buffers):
    """Options of mpi.file_open_close."""


BENCHMARK = FileBenchmark(
    moves="",
    title="MPI-IO open and close",
    kernel="file_open_close",
    options=Options,
    ranks=(1, None),
    sized=False,
    metrics={"latency_us": lambda spec: 1},
    cadence="isolated",
    warmup=(10, 2),
    equivalents={"IMB-IO Open_Close": {}},
)
