"""MPI-IO: one non-blocking read of every rank, with computation while it is under way.

Pure time, computation alone, and both together, as in mpi.iallreduce; the options of mpi.file_read. The definitions
of IMB-IO IRead; MPI has no non-blocking call on the ordered shared pointer, which IMB's C_IRead_Shared replaces by
the non-collective one.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import _file

_NAMES = _file.names("IRead", {})
BENCHMARK = Benchmark(
    title="MPI-IO read, non-blocking",
    kernel="file_iread",
    options=_file.BehindReading,
    check=_file.check_behind,
    equivalents={name: options for name, options in _NAMES.items() if name != "IMB-IO C_IRead_Shared"},
    **_file.FIELDS,
    **_file.BEHIND,
)
