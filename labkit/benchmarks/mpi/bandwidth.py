"""Bandwidth from rank 0 to rank 1 with a window of messages in flight, closed by one short answer.

A sample is one window: `window` non-blocking sends, their completion, and the receiver's answer. The definition of
osu_bw (OMB 7.4, mpi/pt2pt/osu_bw.c; window 64, one buffer for all messages). 1 MB = 10^6 B.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Timed
from labkit.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Options(Timed):
    """Options of mpi.bandwidth.

    Parameters
    ----------
    window : messages in flight.
    buffers : one `single` buffer for all messages of a window, or `multiple`, as osu_bw -b.
    """

    window: int = 64
    buffers: Literal["single", "multiple"] = "single"


def _check(spec: Spec) -> str:
    window = spec.option("window")
    return "" if 1 <= window <= 65536 else f"window={window}, but it must be 1 to 65536. Set window=64."


BENCHMARK = Benchmark(
    title="bandwidth",
    kernel="bandwidth",
    options=Options,
    check=_check,
    ranks=(2, 2),
    window=lambda spec: spec.option("window"),
    metrics={
        "bandwidth_MBps": lambda spec: spec.option("window") * spec.size,
        "message_rate_per_s": lambda spec: spec.option("window"),
    },
    expected=lambda spec, rank, send: send(0) if rank == 1 else None,
    cadence="windowed",
    warmup=(10, 2),
    classics={"osu_bw": {}},
)
