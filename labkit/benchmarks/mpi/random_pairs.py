"""Messages between random pairs of ranks, drawn again for every iteration, to cover the whole network.

`direction=uni`: a random half of the ranks sends, each to a partner of the other half; `bi`: the partners of a pair
send to each other; `co`: all ranks form a random ring and send to the next in it. The pairs of all iterations come from
a table with a fixed seed, the same on every rank; with an odd number of ranks one sits out. The time of one iteration
on the slowest rank; the bandwidth counts all bytes sent. IMB-P2P Corandom is the same, divided by the two messages of a
rank; Unirandom and Birandom draw one pair after the other instead: they have one or two messages in flight, but here
half of the ranks or all of them send.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Collective, Values, allowed
from labkit.options import frozen
from labkit.point.spec import Spec

ROWS = 64  # different pairings
NOBODY = -1
_ONE_PAIR = "IMB draws one pair of ranks after the other, labkit pairs all ranks at once"


@frozen
class Options(Collective):
    """Options of mpi.random_pairs.

    Parameters
    ----------
    direction : one of a pair sends (`uni`), both do (`bi`), or all send around a random ring (`co`).
    """

    direction: Literal["uni", "bi", "co"] = "bi"


def table(ranks: int, direction: str) -> Values:
    """The ranks that every rank sends to and receives from, (rows, ranks, 2); -1 for none."""
    chance = np.random.default_rng(1)
    rows = np.full((ROWS, ranks, 2), NOBODY, np.int32)
    for row in rows:
        order = chance.permutation(ranks)
        if direction == "co":
            row[order, 0], row[order, 1] = np.roll(order, -1), np.roll(order, 1)
            continue
        half = ranks // 2
        first, second = order[:half], order[half : 2 * half]
        row[first, 0], row[second, 1] = second, first
        if direction == "bi":
            row[second, 0], row[first, 1] = first, second
    return rows


def _messages(spec: Spec[Options]) -> int:
    """Messages of one iteration."""
    return {"uni": spec.ranks // 2, "bi": spec.ranks // 2 * 2, "co": spec.ranks}[spec.options.direction]


def _expected(spec: Spec[Options], rank: int, send: Callable[[int], Values]) -> Values | None:
    source = table(spec.ranks, spec.options.direction)[0, rank, 1]
    return None if source == NOBODY else send(int(source))


BENCHMARK = KernelBenchmark(
    title="random pairs",
    kernel="random",
    options=Options,
    check=allowed,
    ranks=(2, None),
    requests=lambda spec: 2,
    metrics={
        "latency_us": lambda spec: 1,
        "bandwidth_MBps": lambda spec: _messages(spec) * spec.size,
        "message_rate_per_s": _messages,
    },
    peers=lambda spec, rank: table(spec.ranks, spec.options.direction)[:, rank].ravel().tolist(),
    work=lambda spec: {"npeers": ROWS},
    expected=_expected,
    equivalents={
        "IMB-P2P Unirandom": {"direction": "uni", "cadence": "streaming", "timing": "total"},
        "IMB-P2P Birandom": {"direction": "bi", "cadence": "streaming", "timing": "total"},
        "IMB-P2P Corandom": {"direction": "co", "cadence": "streaming", "timing": "total"},
    },
    converted={
        "IMB-P2P Corandom": lambda spec: {"latency_us": 2, "bandwidth_MBps": 0.5, "message_rate_per_s": 0.5},
    },
    unlike=dict.fromkeys(("IMB-P2P Unirandom", "IMB-P2P Birandom"), _ONE_PAIR),
)
