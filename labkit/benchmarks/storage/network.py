"""Time of one read from a block device that another process or host serves over TCP, and of one write to it."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.storage.file import METRICS
from labkit.point.spec import Spec
from labkit.point.units import parse_size
from labkit.tools import nbdkit


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.network_read and storage.network_write.

    Parameters
    ----------
    pattern : order of the blocks; random takes each once before any comes again.
    file_size : of the device.
    backing : what the server keeps the blocks in: its own `memory`, or a `file`.
    depth : requests under way at once.
    offered : requests to start in a second, at moments of a Poisson process; 0 starts each as soon as there is room.
    directory : of the server's file; empty for the system's place for temporary files.
    ip : version of the internet protocol.
    """

    pattern: Literal["sequential", "random"] = "random"
    file_size: int | str = "16Mi"
    backing: Literal["memory", "file"] = "memory"
    depth: int = 1
    offered: int = 0
    directory: str = ""
    ip: Literal["ipv4", "ipv6"] = "ipv4"

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


def _check(spec: Spec[Options]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    size, file_size, depth, offered = spec.size, int(spec.options.file_size), spec.options.depth, spec.options.offered
    if not 0 < size <= file_size or size % 512:
        return f"size={size} B, but it must be a multiple of 512 B up to the device's {file_size} B. Set size=4096."
    if depth < 1 or offered < 0:
        return f"depth={depth}, offered={offered}, but they must be at least 1 and 0. Set depth=1 and offered=0."
    return ""


_READ = ToolBenchmark(
    title="read over the network",
    options=Options,
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
