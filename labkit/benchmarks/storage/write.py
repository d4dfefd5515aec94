"""Time of one write to a file, and how many a second.

A sample is fio's completion latency of one write. With `depth` writes under way at once, their rate is `depth` over
the time of one (Little's law, exact for the means). With `sync=fsync` fio times the write and the fsync
after it apart: there are no samples then, and the mean latency is the sum of the two means.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.tools import fio
from labkit.units import parse_size


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.write.

    Parameters
    ----------
    pattern : order of the blocks; random takes each once before any comes again.
    sync : how far a write must get before it counts: `none`, to the page cache; `fsync`, to the disk by a call of its
        own; `osync`, to the disk in the same call (O_SYNC); `direct`, past the page cache (O_DIRECT).
    file_size : of the file, such as 16Mi.
    depth : writes under way at once; above 1 needs `sync=direct`.
    directory : on the file system to be measured; empty for the system's place for temporary files.
    """

    pattern: Literal["sequential", "random"] = "sequential"
    sync: Literal["none", "fsync", "osync", "direct"] = "none"
    file_size: int | str = "16Mi"
    depth: int = 1
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


BENCHMARK = Benchmark(
    title="file write",
    options=Options,
    sizes="4Ki:1Mi:*4",
    metrics={
        "latency_us": lambda spec: 1,
        "iops_per_s": lambda spec: spec.option("depth"),
        "bandwidth_MBps": lambda spec: spec.option("depth") * spec.size,
    },
    jobs=(fio.write,),
    cadence="streaming",
)
