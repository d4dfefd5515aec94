"""Throughput of several processes on a file each (IOzone ``-t``), test by test.

The bandwidth is the sum over the processes, each over its own time, until the first one finishes.
`parent_bandwidth_MBps` among the reported values is over the time from the first start to the last end. The size refers
to a record.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.storage import IozoneThroughput
from labkit.tools import iozone

BENCHMARK = ToolBenchmark(
    title="throughput of several processes",
    options=IozoneThroughput,
    sizes="64Ki",
    metrics={"bandwidth_MBps": lambda spec: 1},
    tools=(iozone.processes,),
    logs={"IOzone throughput": {}},
    timed=lambda spec, labels: float((spec.options.file_size or 0) * (spec.options.processes or 0)),
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="request size (B)",
)
