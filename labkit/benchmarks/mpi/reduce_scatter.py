"""Latency of MPI_Reduce_scatter: one vector combined over all ranks; each rank receives a part.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_reduce_scatter (OMB 7.4,
mpi/collective/blocking/osu_reduce_scatter.c) and in IMB-MPI1 Reduce_scatter (its default, -sync on). `streaming` runs
them back to back, as IMB-MPI1 Reduce_scatter -sync off does. `synchronised` starts each at an agreed time on
synchronised clocks. The size refers to the whole vector; the first ranks receive one element more if it does not
divide evenly. Bus bandwidth is (n-1)/n times size over time (nccl-tests).
"""

from collections.abc import Callable

import numpy as np

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Reduction, Values, allowed, combined
from labkit.benchmarks.mpi._forms import IN_ALL, forms
from labkit.point.spec import Spec


def parts(spec: Spec, item: int) -> list[int]:
    """Number of elements that every rank receives, if an element has `item` B.

    Examples
    --------
    >>> parts(Spec(benchmark="mpi.reduce_scatter", size=20, ranks=3), 4)
    [2, 2, 1]
    """
    whole, more = divmod(spec.size // item, spec.ranks)
    return [whole + (rank < more) for rank in range(spec.ranks)]


def _expected(spec: Spec[Reduction], rank: int, send: Callable[[int], Values]) -> Values:
    counts = parts(spec, np.dtype(spec.options.datatype).itemsize)
    first = sum(counts[:rank])
    return combined(spec.options.operation, send, 0, spec.ranks)[first : first + counts[rank]]


BENCHMARK = CollectiveBenchmark(
    title="reduce_scatter",
    kernel="reduce_scatter",
    options=Reduction,
    check=allowed,
    ranks=(2, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.options.datatype,
    counts=parts,
    placed=lambda spec, rank: 0,
    expected=_expected,
    metrics={
        "latency_us": lambda spec: 1,
        "busbw_GBps": lambda spec: (spec.ranks - 1) / spec.ranks * spec.size,
    },
    equivalents={
        "osu_reduce_scatter": {},
        "IMB-MPI1 Reduce_scatter": {},
        "IMB-MT ReduceScatterMT": {"threads": 2},
    },
)
FORMS = forms(BENCHMARK, IN_ALL)
