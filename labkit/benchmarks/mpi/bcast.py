"""Latency of MPI_Bcast: one message from the root to all other ranks.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_bcast (OMB 7.4,
mpi/collective/blocking/osu_bcast.c); `streaming` runs them back to back, as IMB-MPI1 Bcast does.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of mpi.bcast.

    Parameters
    ----------
    root : rank that sends.
    cadence : `isolated` by a barrier after every iteration, or `streaming`.
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop.
    hugepages : ask for huge pages for the message buffers.
    """

    root: int = 0
    cadence: Literal["isolated", "streaming"] = "isolated"
    timing: Literal["each", "total"] = "each"
    hugepages: bool = False


def _check(spec: Spec) -> str:
    root = spec.option("root")
    return "" if 0 <= root < spec.ranks else f"root={root}, but there are ranks 0 to {spec.ranks - 1}. Set root=0."


BENCHMARK = Benchmark(
    title="broadcast",
    kernel="bcast",
    options=Options,
    check=_check,
    ranks=(2, None),
    sizes="1:1Mi",
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: spec.size},
    expected=lambda spec, rank, send: None if rank == spec.option("root") else send(spec.option("root")),
    reduce="max",
    work=lambda spec: {"root": spec.option("root")},
)
