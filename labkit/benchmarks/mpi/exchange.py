"""Exchange with both neighbours of a ring: every rank sends to and receives from its left and its right.

The time of one exchange on the slowest rank; the bandwidth counts the two messages a rank sends and the two it
receives. The definition of IMB-MPI1 Exchange.
"""

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Moving, allowed
from labkit.point.spec import Spec


def _near(spec: Spec, rank: int) -> list[int]:
    return [(rank - 1) % spec.ranks, (rank + 1) % spec.ranks]


BENCHMARK = KernelBenchmark(
    title="exchange in a ring",
    kernel="exchange",
    options=Moving,
    check=allowed,
    ranks=(2, None),
    apart=True,
    sizes="1:1Mi",
    requests=lambda spec: 2 * 2,
    buffers=lambda spec: (2 * spec.size, 2 * spec.size),
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 2 * 2 * spec.size},
    peers=_near,
    expected=lambda spec, rank, send: np.concatenate(
        [send(peer)[(k ^ 1) * spec.size : (k ^ 1) * spec.size + spec.size] for k, peer in enumerate(_near(spec, rank))]
    ),
    equivalents={
        "IMB-MPI1 Exchange": {"cadence": "streaming", "timing": "total"},
        "IMB-MT ExchangeMT": {"cadence": "streaming", "threads": 2, "timing": "total"},
    },
)
