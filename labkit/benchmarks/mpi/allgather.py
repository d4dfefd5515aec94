"""Latency of MPI_Allgather: every rank receives one message from every rank.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_allgather (OMB 7.4,
mpi/collective/blocking/osu_allgather.c) and in IMB-MPI1 Allgather (its default, -sync on). `streaming` runs them back
to back, as IMB-MPI1 Allgather -sync off does. `synchronised` starts each at an agreed time on synchronised clocks.

The size is the size of one rank's message.

Bus bandwidth is (n-1) times size over time (nccl-tests).
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import InPlace, allowed, pieces
from labkit.benchmarks.mpi._forms import IN_ALL, counted, forms
from labkit.benchmarks.simulated import BYTE, collective

BENCHMARK = CollectiveBenchmark(
    title="allgather",
    kernel="allgather",
    options=InPlace,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size, spec.size * spec.ranks),
    placed=lambda spec, rank: rank * spec.size,
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), 0),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: (spec.ranks - 1) * spec.size},
    simulation=collective("allgather", lambda spec, root: f"{spec.size} {spec.size} {BYTE} {BYTE}"),
    equivalents={
        "osu_allgather": {},
        "IMB-MPI1 Allgather": {},
        "IMB-MT AllgatherMT": {"threads": 2},
    },
)
ALLGATHERV = counted(
    BENCHMARK,
    "every rank receives one message from every rank",
    "allgatherv",
    title="allgatherv",
    equivalents={"osu_allgatherv": {}, "IMB-MPI1 Allgatherv": {}, "IMB-MT AllgathervMT": {"threads": 2}},
)
FORMS = {
    **forms(BENCHMARK, IN_ALL),
    "allgatherv": ALLGATHERV,
    **forms(ALLGATHERV, IN_ALL),
}
