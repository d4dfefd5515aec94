"""Latency of MPI_Barrier: no rank leaves before all ranks have entered.

Every rank times every iteration, back to back; the slowest rank counts. OSU's mean over ranks is also given, as in
osu_barrier (OMB 7.4, mpi/collective/blocking/osu_barrier.c) and IMB-MPI1 Barrier. No bytes move, so none are verified.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Timed, allowed
from labkit.benchmarks.mpi._forms import IN_ALL, forms
from labkit.benchmarks.simulated import collective

BENCHMARK = CollectiveBenchmark(
    title="barrier",
    kernel="barrier",
    options=Timed,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    sized=False,
    buffers=lambda spec: (0, 0),
    cadence="streaming",
    simulation=collective("barrier", lambda spec, root: ""),
    metrics={"latency_us": lambda spec: 1},
    equivalents={"osu_barrier": {}, "IMB-MPI1 Barrier": {"timing": "total"}, "IMB-MT BarrierMT": {"threads": 2}},
)
FORMS = forms(BENCHMARK, IN_ALL)
