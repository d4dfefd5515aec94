"""Hot spots over verbs: one end receives from several processes, or sends to all of them, at the same time."""

import dataclasses

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS, packet
from labkit.options.verbs import HotSpot
from labkit.point.spec import Spec
from labkit.tools import pyverbs

_MOST = 2**30  # B; each message of a round has a buffer


def _possible(spec: Spec[HotSpot]) -> str:
    """Why the options do not fit; empty if they do."""
    for name, high in (("peers", 64), ("window", 1024)):
        if not 1 <= (value := spec.values[name]) <= high:
            return f"{name}={value}, but it must be 1 to {high}. Set {name}=1."
    total = spec.options.peers * spec.options.window * spec.size
    if total > _MOST:
        return (
            f"peers={spec.options.peers}, window={spec.options.window}, size={spec.size} B, but the messages of a "
            f"round have at most {_MOST} B together. Set window=1, or a smaller size."
        )
    if spec.options.srq and spec.benchmark == "verbs.hotspot_send":
        return "srq=True, but a hot spot that sends receives only answers. Set srq=False, or use verbs.hotspot_receive."
    return packet(spec.size, spec.options.mtu)


_RECEIVES = ToolBenchmark(
    title="hot spot of verbs, receiving",
    options=HotSpot,
    sizes="8:64Ki:*8",
    max_size=2**30,
    check=_possible,
    metrics={
        "latency_us": lambda spec: 1,
        "bandwidth_MBps": lambda spec: spec.options.peers * spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: spec.options.peers * spec.options.window,
    },
    tools=(pyverbs.hotspot_receive,),
    cadence="windowed",
    ends=VERBS,
    doc="""A hot spot over verbs that receives: processes of the other end all send to one at the same time.

A sample is a window of SEND from every process, until all have come and one short answer to each is complete; samples
follow one another without a pause. With `window=1` the time against the number of processes is the hot-spot test of
Liu et al. (2003), section 4.6, with processes of one host in place of hosts; mpi.hotspot_receive is the same one
layer above. The bandwidth counts all bytes received. The calls go through Python.
""",
)
FORMS = {
    "hotspot_receive": _RECEIVES,
    "hotspot_send": dataclasses.replace(
        _RECEIVES,
        title="hot spot of verbs, sending",
        tools=(pyverbs.hotspot_send,),
        doc="""A hot spot over verbs that sends: one process sends to processes of the other end at the same time.

A sample is a window of SEND to every process, until one short answer has come from each; samples follow one another
without a pause. With `window=1` the time against the number of processes is the hot-spot test of Liu et al. (2003),
section 4.6, with processes of one host in place of hosts; mpi.hotspot_send measures the same one layer higher. The
bandwidth counts all bytes sent. The calls go through Python.
""",
    ),
}
