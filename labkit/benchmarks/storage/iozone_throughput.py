"""Throughput of several processes on a file each (IOzone ``-t``), test by test.

The bandwidth is the sum of what the processes saw, each over its own time, until the first of them is done.
`parent_bandwidth_MBps` among the reported values is over the time from the first start to the last end. The size is
that of a record.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.point.units import parse_size
from labkit.tools import iozone


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.iozone_throughput.

    Parameters
    ----------
    test : what the processes do, as iozone names it.
    processes : that run at once.
    file_size : of each process's own file.
    sync : open the files with O_SYNC.
    direct : open the files with O_DIRECT.
    directory : on the file system to be measured; empty for the system's place for temporary files.
    """

    test: Literal[
        "initial writers",
        "rewriters",
        "readers",
        "re-readers",
        "random readers",
        "random writers",
        "reverse readers",
        "stride readers",
        "mixed workload",
    ] = "initial writers"
    processes: int = 2
    file_size: int | str = "1Mi"
    sync: bool = False
    direct: bool = False
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "file_size", parse_size(self.file_size))


BENCHMARK = ToolBenchmark(
    title="throughput of several processes",
    options=Options,
    sizes="64Ki",
    metrics={"bandwidth_MBps": lambda spec: 1},
    tools=(iozone.processes,),
    logs={"IOzone throughput": {}},
    timed=lambda spec, labels: float((spec.options.file_size or 0) * (spec.options.processes or 0)),
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="request size (B)",
)
