"""Throughput of sequential, random, backward and strided access over file and record size: IOzone's automatic mode.

Each cell is one pass of one process over one file. Without `direct` the page cache answers every read, and takes every
write too unless `sync` is set: then the file is opened with O_SYNC and a write counts when it is on the disk. The
message size has no meaning here.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.storage import Iozone
from labkit.tools import iozone

BENCHMARK = ToolBenchmark(
    title="throughput by file and record size",
    options=Iozone,
    sized=False,
    metrics={"bandwidth_MBps": lambda spec: 1},
    tools=(iozone.table,),
    logs={"IOzone": {}},
    timed=lambda spec, labels: float(labels["file_size_B"] or 0),
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="request size (B)",
)
