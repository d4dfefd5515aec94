"""Cost of a window: MPI_Win_create, one fence, MPI_Win_free.

The size refers to the memory every rank exposes; no bytes move. IMB-EXT Window also puts one
element into its own window and fences once more.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Collective, allowed

BENCHMARK = KernelBenchmark(
    title="creation of a window",
    kernel="window_create",
    options=Collective,
    check=allowed,
    ranks=(2, None),
    sizes="1:4Mi",
    metrics={"latency_us": lambda spec: 1},
    equivalents={"IMB-EXT Window": {"cadence": "streaming", "timing": "total"}},
    unlike={"IMB-EXT Window": "IMB also puts one element into its own window and fences once more"},
)
