"""MPI-IO: one read of every rank.

The ranks write to or read from one file through MPI-IO; the latency is that of the slowest rank, the bandwidth counts
the bytes of all. `access` and `pointer` are the parts of IMB-IO's names: S_ is one rank with the file to itself
(`single`), P_ all ranks at once (`parallel`), C_ all together in a collective call (`collective`); the position comes
from the rank's own file pointer (`individual`, Indv), from the call (`explicit`, Expl), or from the pointer all share
(`shared`, Shared), and with `private` (Priv) every rank has a file of its own. The pointer is put back after every
iteration, untimed. What was just written is read back from the page cache. The definitions of IMB-IO Read.
"""

from labkit.benchmarks.mpi import _file

BENCHMARK = _file.blocking("read", _file.Access, {})
FORMS = {"file_iread": _file.nonblocking(BENCHMARK, _file.BehindReading, {})}
