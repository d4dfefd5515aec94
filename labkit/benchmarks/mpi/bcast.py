"""Latency of MPI_Bcast: one message from the root to all other ranks.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_bcast (OMB 7.4,
mpi/collective/blocking/osu_bcast.c) and in IMB-MPI1 Bcast (its default, -sync on). `streaming` runs them back to back,
as IMB-MPI1 Bcast -sync off does. `synchronised` starts each at an agreed time on synchronised clocks. Bus bandwidth is
size over time. `binding` selects the C kernel, mpi4py with buffers, or mpi4py with pickled objects.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Binding, RootedMoving, allowed
from labkit.benchmarks.mpi._forms import IN_ALL, forms
from labkit.benchmarks.simulated import BYTE, rooted
from labkit.options import frozen


@frozen
class Options(Binding, RootedMoving):
    """Options of mpi.bcast."""


BENCHMARK = CollectiveBenchmark(
    title="broadcast",
    kernel="bcast",
    options=Options,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    expected=lambda spec, rank, send: None if rank == spec.options.root else send(spec.options.root),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: spec.size},
    simulation=rooted("bcast", lambda spec, root: f"{spec.size} {root} {BYTE}"),
    equivalents={"osu_bcast": {}, "IMB-MPI1 Bcast": {}, "IMB-MT BcastMT": {"threads": 2}},
)
FORMS = forms(BENCHMARK, IN_ALL)
