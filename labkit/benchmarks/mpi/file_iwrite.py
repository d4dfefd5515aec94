"""MPI-IO: one non-blocking write of every rank, with computation while it is under way.

Pure time, computation alone, and both together, as in mpi.iallreduce; the options of mpi.file_write. The definitions
of IMB-IO IWrite; MPI has no non-blocking call on the ordered shared pointer, which IMB's C_IWrite_Shared replaces by
the non-collective one.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import _file

_NAMES = _file.names("IWrite", {"sync": True})
BENCHMARK = Benchmark(
    title="MPI-IO write, non-blocking",
    kernel="file_iwrite",
    options=_file.BehindWriting,
    check=_file.check_behind,
    equivalents={name: options for name, options in _NAMES.items() if name != "IMB-IO C_IWrite_Shared"},
    **_file.FIELDS,
    **_file.BEHIND,
)
