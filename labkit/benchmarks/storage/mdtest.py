"""Operations on files and directories of all ranks per second, by mdtest itself.

Items of all tasks over the time of the slowest. mdtest prints the greatest, least and mean rate over the iterations
inside one start; the mean is that of rates. storage.metadata has the same definition, and needs no mdtest.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ProgramBenchmark
from labkit.point.spec import Spec
from labkit.tools import mdtest


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of storage.mdtest.

    Parameters
    ----------
    operation : whose rate is the result; mdtest makes all operations of files, or of directories.
    items : of each rank (-n).
    unique : each rank works in a directory of its own (-u), else all in one.
    write_size : B that are written to each file, and read from it (-w and -e).
    shift : each phase takes the items of the rank so many places further than the phase before (-N).
    directory : on the file system to be measured, which all ranks see; empty for the folder of temporary files.
    """

    operation: Literal[
        "file creation",
        "file stat",
        "file read",
        "file removal",
        "directory creation",
        "directory stat",
        "directory rename",
        "directory removal",
        "tree creation",
        "tree removal",
    ] = "file creation"
    items: int = 1000
    unique: bool = False
    write_size: int = 0
    shift: int = 0
    directory: str = ""


def _check(spec: Spec[Options]) -> str:
    if spec.options.items < 1:
        return f"items={spec.options.items}, but it must be 1 or more. Set items=1000."
    for name, value in (("write_size", spec.options.write_size), ("shift", spec.options.shift)):
        if value < 0:
            return f"{name}={value}, but it must be 0 or more. Set {name}=0."
    if spec.options.write_size and not spec.options.operation.startswith("file"):
        return f"write_size={spec.options.write_size}, but directories hold no bytes. Set write_size=0."
    return ""


BENCHMARK = ProgramBenchmark(
    title="metadata operations (mdtest)",
    options=Options,
    sized=False,
    metrics={"operation_rate_per_s": lambda spec: 1},
    tools=(mdtest.operations,),
    logs={"mdtest": {}},
    check=_check,
    cadence="streaming",
    size_label="request size (B)",
)
