"""Throughput of sequential, random, backward and strided access over file and record size: IOzone's automatic mode.

Each cell is one pass of one process over one file. Without `direct` the page cache answers every read, and
takes every write too unless `sync` is set: then the file is opened with O_SYNC and a write counts when it is on the
disk. The message size means nothing here.
"""

from dataclasses import dataclass, fields

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.point.units import parse_size
from labkit.tools import iozone


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.iozone.

    Parameters
    ----------
    tests : what is measured, a list: write (and rewrite), read (and reread), random (reads and writes), backward
        (reads), stride (reads of every 17th record), record (one record again and again). Files are written first.
    sync : open the files with O_SYNC.
    direct : open the files with O_DIRECT.
    min_file_size, max_file_size : of the files, which double from one to the next.
    min_record_size, max_record_size : of the records, which double too.
    directory : on the file system to be measured; empty for the system's place for temporary files.
    """

    tests: str = "write,read"
    sync: bool = False
    direct: bool = False
    min_file_size: int | str = "64Ki"
    max_file_size: int | str = "1Mi"
    min_record_size: int | str = "4Ki"
    max_record_size: int | str = "256Ki"
    directory: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name.endswith("_size"):
                object.__setattr__(self, field.name, parse_size(getattr(self, field.name)))


BENCHMARK = ToolBenchmark(
    title="throughput by file and record size",
    options=Options,
    sized=False,
    metrics={"bandwidth_MBps": lambda spec: 1},
    tools=(iozone.table,),
    logs={"IOzone": {}},
    timed=lambda spec, labels: float(labels["file_size_B"] or 0),
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="request size (B)",
)
