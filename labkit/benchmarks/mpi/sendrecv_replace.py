"""MPI_Sendrecv_replace in a ring: the bytes from the left replace the bytes that a rank sent to its right.

The time of one call on the slowest rank; the bandwidth counts what a rank sends and receives. The definition of IMB-P2P
SendRecv_Replace: the bandwidth counts what all ranks send.
"""

from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import InPlace, allowed
from labkit.options import frozen
from labkit.point.spec import Spec


@frozen
class Options(InPlace):
    """Options of mpi.sendrecv_replace, which is always in place."""

    in_place: bool = True


def _check(spec: Spec[Options]) -> str:
    return allowed(spec) if spec.options.in_place else "it is always in place. Set in_place=True."


BENCHMARK = CollectiveBenchmark(
    title="sendrecv_replace in a ring",
    kernel="sendrecv_replace",
    options=Options,
    check=_check,
    ranks=(2, None),
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 2 * spec.size},
    placed=lambda spec, rank: 0,
    expected=lambda spec, rank, send: send((rank - 1) % spec.ranks),
    equivalents={"IMB-P2P SendRecv_Replace": {"cadence": "streaming", "timing": "total"}},
    converted={"IMB-P2P SendRecv_Replace": lambda spec: {"bandwidth_MBps": 2 / spec.ranks}},
)
