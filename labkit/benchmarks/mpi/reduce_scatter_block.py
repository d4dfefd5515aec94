"""Latency of MPI_Reduce_scatter_block: a vector combined over all ranks; each rank receives one block.

Every rank times every iteration; the slowest rank counts. OSU's mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_reduce_scatter_block (OMB
7.4, mpi/collective/blocking/osu_reduce_scatter_block.c) and in IMB-MPI1 Reduce_scatter_block (its default, -sync on).
`streaming` runs them back to back, as IMB-MPI1 Reduce_scatter_block -sync off does. `synchronised` starts each at an
agreed time on synchronised clocks. The size refers to a block, as in IMB; osu_reduce_scatter_block prints the size of
the whole vector. Bus bandwidth is (n-1) times size over time.
"""

import numpy as np

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Reduction, allowed, combined
from labkit.benchmarks.mpi._forms import IN_OSU_NONBLOCKING, forms

BENCHMARK = CollectiveBenchmark(
    title="reduce_scatter, equal blocks",
    kernel="reduce_scatter_block",
    options=Reduction,
    check=allowed,
    ranks=(2, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.options.datatype,
    buffers=lambda spec: (spec.size * spec.ranks, spec.size * spec.ranks),
    placed=lambda spec, rank: 0,
    expected=lambda spec, rank, send: np.split(combined(spec.options.operation, send, 0, spec.ranks), spec.ranks)[rank],
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: (spec.ranks - 1) * spec.size},
    equivalents={"osu_reduce_scatter_block": {}, "IMB-MPI1 Reduce_scatter_block": {}},
    converted={"osu_reduce_scatter_block": lambda spec: {"size": 1 / spec.ranks}},
)
FORMS = forms(BENCHMARK, IN_OSU_NONBLOCKING)
