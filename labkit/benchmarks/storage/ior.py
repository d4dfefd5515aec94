"""Bandwidth of all ranks that read or write files, by IOR itself.

Bytes of all tasks over the time from the first open to the last close, for each repetition of a test. The size refers
to one transfer. A test that reads writes the files first, untimed. I/O operations count over the same time, so opening
and closing count. storage.parallel_write and storage.parallel_read have the same definition, and need no IOR.

An imported log has the greatest, least and mean rate over the repetitions of one start; the mean averages rates.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.storage import _parallel
from labkit.options.storage import Ior
from labkit.point.spec import Spec
from labkit.tools import ior


def _operations(spec: Spec[Ior]) -> float:
    return _parallel.transfers(spec) * spec.ranks


BENCHMARK = ProgramBenchmark(
    title="parallel file access (IOR)",
    options=Ior,
    sizes="64Ki:1Mi:*4",
    metrics={"bandwidth_MBps": _parallel.file_size, "iops_per_s": _operations, "run_time_s": lambda spec: 1},
    tools=(ior.transfers,),
    logs={"IOR": {}},
    check=lambda spec: _parallel.check(spec) or ior.wrong(spec),
    cadence="isolated",
    size_label="request size (B)",
)
