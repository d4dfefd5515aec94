"""Exchange with the neighbours in a grid that wraps around: one message to and one from each side.

The ranks form the most square grid of `dimensions` their number allows; rank 0 is its corner and the first dimension
varies fastest. The time of one exchange on the slowest rank; the bandwidth counts all messages a rank sends and
receives. IMB-P2P Stencil2D and Stencil3D. They refuse grids with a side of 1; here a rank then exchanges messages with
itself. They print the time of an exchange divided by the messages a rank sends and receives in it (8 or 12), as mean
over the ranks, and the bandwidth of all ranks together; `labkit import` and `--format imb` convert.
"""

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Moving, allowed
from labkit.options import frozen
from labkit.point.spec import Spec


@frozen
class Options(Moving):
    """Options of mpi.stencil.

    Parameters
    ----------
    dimensions : dimensions of the grid, 2 or 3.
    """

    dimensions: int = 2


def _check(spec: Spec[Options]) -> str:
    if spec.options.dimensions not in (2, 3):
        return f"dimensions={spec.options.dimensions}, but it must be 2 or 3. Set dimensions=2."
    return allowed(spec)


def sides(ranks: int, dimensions: int) -> list[int]:
    """Lengths of the sides of the most square grid, the longest first.

    Examples
    --------
    >>> sides(12, 2), sides(12, 3), sides(7, 2)
    ([4, 3], [3, 2, 2], [7, 1])
    """
    if dimensions == 1:
        return [ranks]
    short = max(s for s in range(1, ranks + 1) if ranks % s == 0 and s**dimensions <= ranks)
    return sorted([short, *sides(ranks // short, dimensions - 1)], reverse=True)


def _near(spec: Spec[Options], rank: int) -> list[int]:
    grid, near, stride = sides(spec.ranks, spec.options.dimensions), [], 1
    for side in grid:
        place = rank // stride % side
        near += [rank + ((place + step) % side - place) * stride for step in (-1, 1)]
        stride *= side
    return near


def _p2p(spec: Spec[Options]) -> dict[str, float]:
    """Factors from IMB-P2P's numbers: it prints the time per message of a rank, and the bandwidth of all ranks."""
    moved = dict.fromkeys(("bandwidth_MBps", "message_rate_per_s"), 1 / spec.ranks)
    return {"latency_us": 2 * 2 * spec.options.dimensions, **moved}


BENCHMARK = KernelBenchmark(
    title="exchange in a grid",
    kernel="exchange",
    options=Options,
    check=_check,
    ranks=(2, None),
    apart=True,
    sizes="1:1Mi",
    requests=lambda spec: 2 * 2 * spec.options.dimensions,
    buffers=lambda spec: (2 * spec.options.dimensions * spec.size, 2 * spec.options.dimensions * spec.size),
    metrics={
        "latency_us": lambda spec: 1,
        "bandwidth_MBps": lambda spec: 2 * 2 * spec.options.dimensions * spec.size,
    },
    peers=_near,
    expected=lambda spec, rank, send: np.concatenate(
        [send(peer)[(k ^ 1) * spec.size : (k ^ 1) * spec.size + spec.size] for k, peer in enumerate(_near(spec, rank))]
    ),
    equivalents={
        "IMB-P2P Stencil2D": {"cadence": "streaming", "timing": "total"},
        "IMB-P2P Stencil3D": {"cadence": "streaming", "dimensions": 3, "timing": "total"},
    },
    converted={"IMB-P2P Stencil2D": _p2p, "IMB-P2P Stencil3D": _p2p},
)
