"""Bandwidth of all ranks that read or write files, by IOR itself.

Bytes of all tasks over the time from the first open to the last close, for each repetition of a test. The size is that
of one transfer. A test that reads writes the files first, untimed. I/O operations count over the same time, so opening
and closing count. storage.parallel_write and storage.parallel_read have the same definition, and need no IOR.

An imported log has the greatest, least and mean rate over the repetitions of one start; the mean is that of rates.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.storage import _parallel
from labkit.point.spec import Spec
from labkit.point.units import parse_size
from labkit.tools import ior


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.ior.

    Parameters
    ----------
    operation : that is timed.
    api : MPI-IO or system calls.
    file : all ranks `shared` one, or each has its own (`file per process`, -F).
    block_size : contiguous data of a rank in a segment (-b), such as 1Mi; a whole number of transfers.
    segments : of a block of every rank each (-s).
    collective : all ranks make each transfer together (-c).
    sync : never (`none`), after the last transfer (`end`, -e) or after each one (`each`, -Y).
    reorder : each rank reads what a rank of the next host wrote, or of one host the next rank (-C).
    directory : on the file system to be measured, which all ranks see; empty for the folder of temporary files.
    """

    operation: Literal["write", "read"] = "write"
    api: Literal["MPIIO", "POSIX"] = "MPIIO"
    file: Literal["shared", "file per process"] = "shared"
    block_size: int | str = "1Mi"
    segments: int = 1
    collective: bool = False
    sync: Literal["none", "end", "each"] = "none"
    reorder: bool = True
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_size", parse_size(self.block_size))


def _operations(spec: Spec[Options]) -> float:
    return _parallel.transfers(spec) * spec.ranks


BENCHMARK = ProgramBenchmark(
    title="parallel file access (IOR)",
    options=Options,
    sizes="64Ki:1Mi:*4",
    metrics={"bandwidth_MBps": _parallel.file_size, "iops_per_s": _operations, "run_time_s": lambda spec: 1},
    tools=(ior.transfers,),
    logs={"IOR": {}},
    check=lambda spec: _parallel.check(spec) or ior.wrong(spec),
    cadence="isolated",
    size_label="request size (B)",
)
