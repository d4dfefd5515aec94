"""MPI_Sendrecv in a ring: every rank sends to its right and receives from its left.

The time of one call on the slowest rank; the bandwidth counts what a rank sends and receives. The definition of
IMB-MPI1 Sendrecv (periodic chain).
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Moving, allowed

BENCHMARK = KernelBenchmark(
    title="sendrecv in a ring",
    kernel="sendrecv",
    options=Moving,
    check=allowed,
    ranks=(2, None),
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 2 * spec.size},
    expected=lambda spec, rank, send: send((rank - 1) % spec.ranks),
    equivalents={
        "IMB-MPI1 Sendrecv": {"cadence": "streaming", "timing": "total"},
        "IMB-MT SendRecvMT": {"cadence": "streaming", "threads": 2, "timing": "total"},
    },
)
