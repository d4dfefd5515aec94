"""Latency of MPI_Gather: the root receives one message from every rank.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_gather (OMB 7.4,
mpi/collective/blocking/osu_gather.c) and in IMB-MPI1 Gather (its default, -sync on). `streaming` runs them back to
back, as IMB-MPI1 Gather -sync off does. `synchronised` starts each at an agreed time on synchronised clocks.

The size is the size of one rank's message.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import RootedInPlace, allowed, pieces
from labkit.benchmarks.mpi._forms import IN_ALL, counted, forms
from labkit.benchmarks.simulated import BYTE, rooted

BENCHMARK = CollectiveBenchmark(
    title="gather",
    kernel="gather",
    options=RootedInPlace,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size, spec.size * spec.ranks),
    placed=lambda spec, rank: rank * spec.size if rank == spec.options.root else None,
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), 0) if rank == spec.options.root else None,
    metrics={"latency_us": lambda spec: 1},
    simulation=rooted("gather", lambda spec, root: f"{spec.size} {spec.size} {root} {BYTE} {BYTE}"),
    equivalents={"osu_gather": {}, "IMB-MPI1 Gather": {}, "IMB-MT GatherMT": {"threads": 2}},
)
GATHERV = counted(
    BENCHMARK,
    "the root receives one message from every rank",
    "gatherv",
    title="gatherv",
    equivalents={"osu_gatherv": {}, "IMB-MPI1 Gatherv": {}, "IMB-MT GathervMT": {"threads": 2}},
)
FORMS = {
    **forms(BENCHMARK, IN_ALL),
    "gatherv": GATHERV,
    **forms(GATHERV, IN_ALL),
}
