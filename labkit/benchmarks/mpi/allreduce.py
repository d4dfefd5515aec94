"""Latency of MPI_Allreduce: one vector combined over all ranks, with the result on every rank.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_allreduce (OMB 7.4,
mpi/collective/blocking/osu_allreduce.c) and in IMB-MPI1 Allreduce (its default, -sync on). `streaming` runs them back
to back, as IMB-MPI1 Allreduce -sync off does. `synchronised` starts each at an agreed time on synchronised clocks. Bus
bandwidth is 2(n-1)/n times size over time (nccl-tests, PERFORMANCE.md). `binding` selects the C kernel, mpi4py with
buffers, or mpi4py with pickled objects.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Binding, Reduction, allowed, combined
from labkit.benchmarks.mpi._forms import IN_ALL, forms
from labkit.benchmarks.simulated import BYTE, collective
from labkit.options import frozen


@frozen
class Options(Binding, Reduction):
    """Options of mpi.allreduce."""


BENCHMARK = CollectiveBenchmark(
    title="allreduce",
    kernel="allreduce",
    options=Options,
    check=allowed,
    ranks=(1, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.options.datatype,
    placed=lambda spec, rank: 0,
    expected=lambda spec, rank, send: combined(spec.options.operation, send, 0, spec.ranks),
    metrics={
        "latency_us": lambda spec: 1,
        "busbw_GBps": lambda spec: 2 * (spec.ranks - 1) / spec.ranks * spec.size,
    },
    simulation=collective("allreduce", lambda spec, root: f"{spec.size} 0 {BYTE}"),
    equivalents={
        "osu_allreduce": {},
        "IMB-MPI1 Allreduce": {},
        "IMB-MT AllReduceMT": {"threads": 2},
    },
)
FORMS = forms(BENCHMARK, IN_ALL)
