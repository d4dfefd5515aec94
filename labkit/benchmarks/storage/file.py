"""Time of one read from a file and of one write to it, and how many a second, by fio."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.tools import fio
from labkit.units import parse_size


@dataclass(frozen=True, kw_only=True)
class Access:
    """Options of reading and writing.

    Parameters
    ----------
    file_size : of the file, such as 16Mi.
    depth : reads or writes under way at once; above 1 they must bypass the page cache (`direct`).
    directory : on the file system to be measured; empty for the system's place for temporary files.
    """

    file_size: int | str = "16Mi"
    depth: int = 1
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


@dataclass(frozen=True, kw_only=True)
class Read(Access):
    """Options of storage.read.

    Parameters
    ----------
    pattern : order of the blocks; random takes each once before any comes again.
    cache : `drop` empties the page cache of the file first and reads each block once, `direct` bypasses it,
        `warm` fills it first, so that memory answers.
    """

    pattern: Literal["sequential", "random"] = "sequential"
    cache: Literal["drop", "direct", "warm"] = "drop"


@dataclass(frozen=True, kw_only=True)
class Write(Access):
    """Options of storage.write.

    Parameters
    ----------
    pattern : order of the blocks; random takes each once before any comes again.
    sync : how far a write must get before it counts: `none`, to the page cache; `fsync`, to the disk by a call of its
        own; `osync`, to the disk in the same call (O_SYNC); `direct`, past the page cache (O_DIRECT).
    """

    pattern: Literal["sequential", "random"] = "sequential"
    sync: Literal["none", "fsync", "osync", "direct"] = "none"


_READ = ToolBenchmark(
    title="file read",
    options=Read,
    sizes="4Ki:1Mi:*4",
    metrics={
        "latency_us": lambda spec: 1,
        "iops_per_s": lambda spec: spec.option("depth"),
        "bandwidth_MBps": lambda spec: spec.option("depth") * spec.size,
    },
    tools=(fio.read,),
    logs={"fio read": {}},
    cadence="streaming",
    doc="""Time of one read from a file, and how many a second.

A sample is fio's completion latency of one read. With `depth` reads under way at once, their rate is `depth` over the
time of one (Little's law, exact for the means). The rates are those of the reads themselves; what fio spends
between two of them is only in the values that it reports. A page cache that may answer shows as a badge.
""",
)
FORMS = {
    "read": _READ,
    "write": dataclasses.replace(
        _READ,
        title="file write",
        options=Write,
        tools=(fio.write,),
        logs={"fio write": {}},
        doc="""Time of one write to a file, and how many a second.

A sample is fio's completion latency of one write. With `depth` writes under way at once, their rate is `depth` over
the time of one (Little's law, exact for the means). With `sync=fsync` fio times the write and the fsync
after it apart: there are no samples then, and the mean latency is the sum of the two means.
""",
    ),
}
