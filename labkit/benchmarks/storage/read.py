"""Time of one read from a file, and how many a second.

A sample is fio's completion latency of one read. With `depth` reads under way at once, their rate is `depth` over the
time of one (Little's law, exact for the means). The rates are those of the reads themselves; what fio spends
between two of them is only in the values that it reports. A page cache that may answer shows as a badge.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Benchmark
from labkit.tools import fio
from labkit.units import parse_size


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.read.

    Parameters
    ----------
    pattern : order of the blocks; random takes each once before any comes again.
    cache : `drop` empties the page cache of the file first and reads each block once, `direct` bypasses it,
        `warm` fills it first, so that memory answers.
    file_size : of the file, such as 16Mi.
    depth : reads under way at once; above 1 needs `cache=direct`.
    directory : on the file system to be measured; empty for the system's place for temporary files.
    """

    pattern: Literal["sequential", "random"] = "sequential"
    cache: Literal["drop", "direct", "warm"] = "drop"
    file_size: int | str = "16Mi"
    depth: int = 1
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


BENCHMARK = Benchmark(
    title="file read",
    options=Options,
    sizes="4Ki:1Mi:*4",
    metrics={
        "latency_us": lambda spec: 1,
        "iops_per_s": lambda spec: spec.option("depth"),
        "bandwidth_MBps": lambda spec: spec.option("depth") * spec.size,
    },
    jobs=(fio.read,),
    cadence="streaming",
)
