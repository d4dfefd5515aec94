"""MPI-IO: one read of every rank.

The ranks write to or read from one file through MPI-IO. The latency is the time of the slowest rank; the bandwidth
counts the bytes of all ranks. `access` and `pointer` are the parts of IMB-IO's names: S_ is one rank alone (`single`),
P_ all ranks in parallel (`parallel`), C_ all ranks in a collective call (`collective`). The position comes from the
rank's own file pointer (`individual`, Indv), from the call (`explicit`, Expl), or from the shared pointer (`shared`,
Shared). With `private` (Priv) every rank has its own file. labkit resets the pointer after every iteration, untimed.
Reads come from the page cache, because the data were just written. The definitions of IMB-IO Read.
"""

from labkit.benchmarks.mpi import _file

BENCHMARK = _file.blocking("read", _file.Access, {})
FORMS = {"file_iread": _file.nonblocking(BENCHMARK, _file.BehindReading, {})}
