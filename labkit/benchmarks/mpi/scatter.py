"""Latency of MPI_Scatter: the root sends a different message to every rank.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_scatter (OMB 7.4,
mpi/collective/blocking/osu_scatter.c) and in IMB-MPI1 Scatter (its default, -sync on). `streaming` runs them back to
back, as IMB-MPI1 Scatter -sync off does. `synchronised` starts each at an agreed time on synchronised clocks.

The size is the size of one rank's message.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import RootedInPlace, allowed, pieces
from labkit.benchmarks.mpi._forms import IN_ALL, counted, forms
from labkit.benchmarks.simulated import BYTE, rooted
from labkit.options.ranks import Place
from labkit.point.spec import has

BENCHMARK = CollectiveBenchmark(
    title="scatter",
    kernel="scatter",
    options=RootedInPlace,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size * spec.ranks, spec.size),
    placed=lambda spec, rank: 0 if rank == spec.options.root else None,
    replaces="recv",
    expected=lambda spec, rank, send: (
        None
        if has(spec.options, Place) and spec.options.in_place and rank == spec.options.root
        else pieces(spec, send, [spec.options.root], rank * spec.size)
    ),
    metrics={"latency_us": lambda spec: 1},
    simulation=rooted("scatter", lambda spec, root: f"{spec.size} {spec.size} {root} {BYTE} {BYTE}"),
    equivalents={"osu_scatter": {}, "IMB-MPI1 Scatter": {}, "IMB-MT ScatterMT": {"threads": 2}},
)
SCATTERV = counted(
    BENCHMARK,
    "the root sends a different message to every rank",
    "scatterv",
    title="scatterv",
    equivalents={"osu_scatterv": {}, "IMB-MPI1 Scatterv": {}, "IMB-MT ScattervMT": {"threads": 2}},
)
FORMS = {
    **forms(BENCHMARK, IN_ALL),
    "scatterv": SCATTERV,
    **forms(SCATTERV, IN_ALL),
}
