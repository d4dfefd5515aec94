"""Files and directories that all ranks create, look at, open and remove per second (mdtest).

An iteration creates the items of every rank, calls stat for each, opens and closes each (files alone), and removes
them, by system calls (POSIX), with a barrier before and after each phase. `operation` names the phase that is timed;
its time includes the barrier at its end. The rate is the items of all ranks over the time of the slowest. The names and
folders are those of mdtest, and so are the definitions (`file_test`, `summarize_results`) with `-n` items, `-F` or
`-D`, and `-u`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from labkit.benchmarks import ParallelFileBenchmark
from labkit.options import frozen
from labkit.options.ranks import Buffers, Folder
from labkit.point.spec import Spec

_STEPS = ("creation", "stat", "read", "removal")  # numbered as in kernels/parallel_io.c
_FOLDER = "test-dir.0-0"


@frozen
class Options(Folder, Buffers):
    """Options of storage.metadata.

    Parameters
    ----------
    operation : phase that is timed, in mdtest's words.
    items : items of each rank (mdtest's -n).
    unique : each rank works in its own directory (-u), else all in one.
    write_size : B that are written to each file, and read from it (-w and -e).
    shift : rank offset between the items of one phase and those of the phase before (-N).
    directory : folder on the file system to be measured; empty for the folder of temporary files.
    """

    operation: Literal[
        "file creation",
        "file stat",
        "file read",
        "file removal",
        "directory creation",
        "directory stat",
        "directory removal",
    ] = "file creation"
    items: int = 1000
    unique: bool = False
    write_size: int = 0
    shift: int = 0
    directory: str = ""


def _check(spec: Spec[Options]) -> str:
    items, size, shift = spec.options.items, spec.options.write_size, spec.options.shift
    if items < 1:
        return f"items={items}, but it must be 1 or more. Set items=1000."
    if size < 0 or shift < 0:
        name, value = ("write_size", size) if size < 0 else ("shift", shift)
        return f"{name}={value}, but it must be 0 or more. Set {name}=0."
    if size and spec.options.operation.startswith("directory"):
        return f"write_size={size}, but directories hold no bytes. Set write_size=0."
    return ""


def _work(spec: Spec[Options]) -> dict[str, int]:
    kind, step = spec.options.operation.split()
    return {
        "mode": _STEPS.index(step),
        "turns": kind == "directory",
        "overlap": spec.options.unique,
        "count": spec.options.write_size,
    }


def _peers(spec: Spec[Options], rank: int) -> dict[str, object]:
    ranks = [(rank + step * spec.options.shift) % spec.ranks for step in range(len(_STEPS))]
    return {"peers": np.array(ranks, np.int32)}


def _folders(spec: Spec[Options]) -> list[str]:
    trees = [f"mdtest_tree.{rank}.0" for rank in range(spec.ranks)] if spec.options.unique else ["mdtest_tree.0"]
    return [f"{_FOLDER}/{tree}" for tree in trees]


def _complaint(spec: Spec[Options], rank: int, folder: str, received: object) -> str:
    """Say which items are still there after all were removed; empty if none is."""
    left = [path.name for tree in _folders(spec) for path in Path(folder, tree).iterdir()]
    return f"{len(left)} items are left, such as {left[0]}" if left else ""


BENCHMARK = ParallelFileBenchmark(
    title="metadata operations",
    kernel="metadata",
    moves="",
    options=Options,
    check=_check,
    ranks=(1, None),
    sized=False,
    metrics={"operation_rate_per_s": lambda spec: spec.options.items * spec.ranks},
    buffers=lambda spec: (spec.options.write_size, spec.options.write_size),
    window=lambda spec: spec.options.items,
    requests=lambda spec: 1,
    work=_work,
    cadence="isolated",
    size_label="request size (B)",
    warmup=(1, 1),
    file_size=lambda spec: spec.options.items * spec.ranks * max(spec.options.write_size, 1),
    path=lambda spec, rank: _FOLDER,
    fields=_peers,
    folders=_folders,
    checked=lambda spec: spec.replace(options=replace(spec.options, items=min(spec.options.items, 10))),
    complaint=_complaint,
)
