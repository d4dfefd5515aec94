"""Latency of MPI_Scan: every rank receives the combination of the vectors of all ranks up to its own.

Every rank times every iteration; the slowest rank counts. The mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part. `streaming` runs them back to back.
`synchronised` starts each at an agreed time on synchronised clocks.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import Reduction, allowed, combined
from labkit.benchmarks.mpi._forms import forms

BENCHMARK = CollectiveBenchmark(
    title="scan",
    kernel="scan",
    options=Reduction,
    check=allowed,
    ranks=(2, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.options.datatype,
    placed=lambda spec, rank: 0,
    expected=lambda spec, rank, send: combined(spec.options.operation, send, 0, rank + 1),
    metrics={"latency_us": lambda spec: 1},
)
FORMS = forms(BENCHMARK)
