"""Time of one read from a block device that another process or host serves over TCP, and of one write to it."""

import dataclasses

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.storage.file import METRICS
from labkit.options.storage import Network
from labkit.point.spec import Spec
from labkit.tools import nbdkit


def _check(spec: Spec[Network]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    size, file_size, depth, offered = spec.size, int(spec.options.file_size), spec.options.depth, spec.options.offered
    if not 0 < size <= file_size or size % 512:
        return f"size={size} B, but it must be a multiple of 512 B up to the device's {file_size} B. Set size=4096."
    if depth < 1 or offered < 0:
        return f"depth={depth}, offered={offered}, but they must be at least 1 and 0. Set depth=1 and offered=0."
    return ""


_READ = ToolBenchmark(
    title="read over the network",
    options=Network,
    check=_check,
    sizes="4Ki:1Mi:*4",
    metrics=METRICS,
    tools=(nbdkit.read,),
    cadence="streaming",
    size_label="request size (B)",
    doc="""Time of one read from a block device that nbdkit serves over TCP (NBD), and how many a second.

A sample is fio's latency (`lat`) of one request, from its start to its completion, network and server included. With
`depth` requests under way at once, their rate is `depth` over the time of one. Both ends are on this machine, or on two
hosts of a testbed.
""",
)
FORMS = {
    "network_read": _READ,
    "network_write": dataclasses.replace(
        _READ,
        title="write over the network",
        tools=(nbdkit.write,),
        doc="""Time of one write to a block device that nbdkit serves over TCP (NBD), and how many a second.

A sample is fio's latency (`lat`) of one request, from its start to its completion, network and server included. A
write counts when the server has the data in its memory or page cache: nbdkit brings them to its disk only when a flush
asks for it.
""",
    ),
}
