"""One-way latency of a message between two ranks: half the round trip.

Rank 0 sends, rank 1 answers with a message of the same size, both blocking. The definition of osu_latency (OMB 7.4,
mpi/pt2pt/osu_latency.c) and of IMB-MPI1 PingPong; `timing=total` takes one time around the loop, as IMB does.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of mpi.latency.

    Parameters
    ----------
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop.
    hugepages : ask for huge pages for the message buffers.
    """

    timing: Literal["each", "total"] = "each"
    hugepages: bool = False


BENCHMARK = Benchmark(
    title="one-way latency",
    kernel="latency",
    options=Options,
    ranks=(2, 2),
    sizes="0:4Mi",
    metrics={"latency_us": lambda spec: 2},
    expected=lambda spec, rank, send: send(1 - rank),
    cadence="streaming",
)
