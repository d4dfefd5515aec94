"""Hot spots: one rank receives from all others, or sends to all of them, at the same time."""

import dataclasses

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import InFlight, Timed, allowed
from labkit.options import frozen
from labkit.options.ranks import Root


@frozen
class Options(InFlight, Root, Timed):
    """Options of a hot spot.

    Parameters
    ----------
    root : the hot spot.
    window : messages in flight with every other rank.
    """

    window: int = 1


_UNLIKE = "OSU reports the mean time of the ranks around the hot spot, labkit the time of the hot spot"
_RECEIVES = KernelBenchmark(
    title="hot spot, receiving",
    kernel="hotspot",
    options=Options,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    window=lambda spec: spec.options.window,
    apart=True,
    requests=lambda spec: spec.options.window * (spec.ranks - 1),
    buffers=lambda spec: (spec.size, (spec.ranks - 1) * spec.size),
    metrics={
        "latency_us": lambda spec: 1,
        "bandwidth_MBps": lambda spec: (spec.ranks - 1) * spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: (spec.ranks - 1) * spec.options.window,
    },
    active=lambda spec, rank: rank == spec.options.root,
    expected=lambda spec, rank, send: (
        np.concatenate([send(r) for r in range(spec.ranks) if r != rank]) if rank == spec.options.root else None
    ),
    work=lambda spec: {"mode": 0},
    cadence="windowed",
    warmup=(10, 2),
    equivalents={"osu_bw_fan_in": {"window": 64}},
    unlike={"osu_bw_fan_in": _UNLIKE},
    doc="""A hot spot that receives: all other ranks send to one at the same time.

A sample is a window of messages from every other rank, until all have come and one short answer has gone to each;
with `window=1` the time against the number of ranks is the hot-spot test of Liu et al. (2003), section 4.6, with 64
it is osu_bw_fan_in (OMB 7.4, mpi/pt2pt/congestion), which wants two hosts. The bandwidth counts all bytes received.
""",
)
FORMS = {
    "hotspot_receive": _RECEIVES,
    "hotspot_send": dataclasses.replace(
        _RECEIVES,
        title="hot spot, sending",
        buffers=lambda spec: (spec.size, spec.size),
        expected=lambda spec, rank, send: None if rank == spec.options.root else send(spec.options.root),
        work=lambda spec: {"mode": 1},
        equivalents={"osu_bw_fan_out": {"window": 64}},
        unlike={"osu_bw_fan_out": _UNLIKE},
        doc="""A hot spot that sends: one rank sends to all others at the same time.

A sample is a window of messages to every other rank, until one short answer has come from each; with `window=1` the
time against the number of ranks is the hot-spot test of Liu et al. (2003), section 4.6, with 64 it is osu_bw_fan_out
(OMB 7.4, mpi/pt2pt/congestion), which wants two hosts. The bandwidth counts all bytes sent.
""",
    ),
}
