"""Cost of MPI_Reduce_local: combines two vectors in memory, without a message.

It shows the cost of the arithmetic of a reduction. The time of the slowest rank, with all ranks at the same time; the
bandwidth counts the vector. The definition of IMB-MPI1 Reduce_local.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Reduction, allowed

BENCHMARK = KernelBenchmark(
    title="local reduction",
    kernel="reduce_local",
    options=Reduction,
    check=allowed,
    ranks=(1, None),
    sizes="4:1Mi",
    dtype=lambda spec: spec.options.datatype,
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: spec.size},
    cadence="isolated",
    equivalents={"IMB-MPI1 Reduce_local": {}},
)
