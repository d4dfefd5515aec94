"""MPI-IO: one write of every rank.

The ranks write to or read from one file through MPI-IO. The latency is the time of the slowest rank; the bandwidth
counts the bytes of all ranks. `access` and `pointer` are the parts of IMB-IO's names: S_ is one rank alone (`single`),
P_ all ranks in parallel (`parallel`), C_ all ranks in a collective call (`collective`). The position comes from the
rank's own file pointer (`individual`, Indv), from the call (`explicit`, Expl), or from the shared pointer (`shared`,
Shared). With `private` (Priv) every rank has its own file. labkit resets the pointer after every iteration, untimed.
With `sync`, the time of every write includes MPI_File_sync. No cache is bypassed. The definitions of IMB-IO Write.
"""

from labkit.benchmarks.mpi import _file

BENCHMARK = _file.blocking("write", _file.Writing, {"sync": True})
FORMS = {"file_iwrite": _file.nonblocking(BENCHMARK, _file.BehindWriting, {"sync": True})}
