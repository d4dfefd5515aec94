"""Latency of MPI_Alltoall: every rank sends a different message to every rank.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_alltoall (OMB 7.4,
mpi/collective/blocking/osu_alltoall.c) and in IMB-MPI1 Alltoall (its default, -sync on). `streaming` runs them back to
back, as IMB-MPI1 Alltoall -sync off does. `synchronised` starts each at an agreed time on synchronised clocks.

The size is the size of the message between two ranks.

Bus bandwidth is (n-1) times size over time (nccl-tests).
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import InPlace, allowed, pieces
from labkit.benchmarks.mpi._forms import IN_ALL, IN_OSU, counted, forms
from labkit.benchmarks.simulated import BYTE, collective

_DOES = "every rank sends a different message to every rank"
BENCHMARK = CollectiveBenchmark(
    title="all to all",
    kernel="alltoall",
    options=InPlace,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size * spec.ranks, spec.size * spec.ranks),
    placed=lambda spec, rank: 0,
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), rank * spec.size),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: (spec.ranks - 1) * spec.size},
    simulation=collective("alltoall", lambda spec, root: f"{spec.size} {spec.size} {BYTE} {BYTE}"),
    equivalents={"osu_alltoall": {}, "IMB-MPI1 Alltoall": {}, "IMB-MT AlltoallMT": {"threads": 2}},
)
ALLTOALLV = counted(
    BENCHMARK,
    _DOES,
    "alltoallv",
    title="all to all, v form",
    equivalents={"osu_alltoallv": {}, "IMB-MPI1 Alltoallv": {}, "IMB-MT AlltoallvMT": {"threads": 2}},
)
ALLTOALLW = counted(BENCHMARK, _DOES, "alltoallw", title="all to all, w form", equivalents={"osu_alltoallw": {}})
FORMS = {
    **forms(BENCHMARK, IN_ALL),
    "alltoallv": ALLTOALLV,
    **forms(ALLTOALLV, IN_ALL),
    "alltoallw": ALLTOALLW,
    **forms(ALLTOALLW, IN_OSU),
}
