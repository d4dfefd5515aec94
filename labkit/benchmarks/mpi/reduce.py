"""Latency of MPI_Reduce: one vector combined over all ranks, given to the root.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_reduce (OMB 7.4,
mpi/collective/blocking/osu_reduce.c) and in IMB-MPI1 Reduce (its default, -sync on). `streaming` runs them back to
back, as IMB-MPI1 Reduce -sync off does. `synchronised` starts each at an agreed time on synchronised clocks. Bus
bandwidth is size over time.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import RootedReduction, allowed, combined
from labkit.benchmarks.mpi._forms import IN_ALL, forms
from labkit.benchmarks.simulated import BYTE, rooted

BENCHMARK = CollectiveBenchmark(
    title="reduce",
    kernel="reduce",
    options=RootedReduction,
    check=allowed,
    ranks=(2, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.options.datatype,
    placed=lambda spec, rank: 0 if rank == spec.options.root else None,
    expected=lambda spec, rank, send: (
        combined(spec.options.operation, send, 0, spec.ranks) if rank == spec.options.root else None
    ),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: spec.size},
    simulation=rooted("reduce", lambda spec, root: f"{spec.size} 0 {root} {BYTE}"),
    equivalents={"osu_reduce": {}, "IMB-MPI1 Reduce": {}, "IMB-MT ReduceMT": {"threads": 2}},
)
FORMS = forms(BENCHMARK, IN_ALL)
