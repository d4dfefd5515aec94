"""A hot spot that receives: all other ranks send to one at the same time.

A sample is a window of messages from every other rank, until all have come and one short answer has gone to each;
with `window=1` the time against the number of ranks is the hot-spot test of Liu et al. (2003), section 4.6, with 64
it is osu_bw_fan_in (OMB 7.4, mpi/pt2pt/congestion), which wants two hosts. The bandwidth counts all bytes received.
"""

from dataclasses import dataclass

import numpy as np

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import Timed, allowed


@dataclass(frozen=True, kw_only=True)
class Options(Timed):
    """Options of a hot spot.

    Parameters
    ----------
    root : the hot spot.
    window : messages in flight with every other rank.
    """

    root: int = 0
    window: int = 1


BENCHMARK = Benchmark(
    title="hot spot, receiving",
    kernel="hotspot",
    options=Options,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    window=lambda spec: spec.option("window"),
    apart=True,
    requests=lambda spec: spec.option("window") * (spec.ranks - 1),
    buffers=lambda spec: (spec.size, (spec.ranks - 1) * spec.size),
    metrics={
        "latency_us": lambda spec: 1,
        "bandwidth_MBps": lambda spec: (spec.ranks - 1) * spec.option("window") * spec.size,
        "message_rate_per_s": lambda spec: (spec.ranks - 1) * spec.option("window"),
    },
    active=lambda spec, rank: rank == spec.option("root"),
    expected=lambda spec, rank, send: (
        np.concatenate([send(r) for r in range(spec.ranks) if r != rank]) if rank == spec.option("root") else None
    ),
    work=lambda spec: {"mode": 0},
    cadence="windowed",
    warmup=(10, 2),
    equivalents={"osu_bw_fan_in": {"window": 64}},
    unlike={
        "osu_bw_fan_in": "the mean time of the ranks around the hot spot counts there, the time of the hot spot here"
    },
)
