"""A run like that of IO500: all its phases in its order, by all ranks, and its score over them.

Writing and creating continue until the `stonewall`. Then every rank continues until it has done as much as the fastest
one. The later phases find, stat, read and remove all of it. The easy phases move transfers of `transfer_size` to a file
of each rank, and create empty files in a directory of each rank. The hard phases move blocks of 47008 B in one shared
file, and create files of 3901 B in one directory. Ranks look at and read what another rank wrote. Inside the timed
part, reads are compared with what was written, and writes end with fsync, or sync.

A bandwidth is the bytes of all ranks over the time from the first open to the last close (IOR); a rate of operations is
the items of all ranks over the time of the slowest (mdtest), or the files in the folder over the time of find. The
scores are the geometric means of the four bandwidths in GiB/s and of the eight rates in kIOPS, and the root of their
product. A sample is the inverse of this root, in s. The definitions of IO500 (`phase_*.c`, `calc_score`), IOR 4.1 and
mdtest, by system calls.

It is not a submission to IO500: that needs the original program and 300 s in each phase that writes. IO500's find gives
parts of a directory to idle ranks; here, one rank reads each directory. storage.io500 has imported results of IO500.
"""

import os
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import ParallelFileBenchmark
from labkit.errors import KernelError
from labkit.options import frozen
from labkit.options.ranks import Buffers, Folder
from labkit.point import storage
from labkit.point.spec import Spec
from labkit.point.units import GiB, parse_size

HARD_SIZE = 47008  # B of a transfer of the hard phases
FILE_SIZE = 3901  # B of a file of mdtest-hard
RULE_S = 300.0  # that each phase that writes must take in a submission
PHASES = {  # in the order of a run → metric
    "ior-easy-write": "ior_easy_write_MBps",
    "mdtest-easy-write": "mdtest_easy_write_per_s",
    "ior-hard-write": "ior_hard_write_MBps",
    "mdtest-hard-write": "mdtest_hard_write_per_s",
    "find": "find_per_s",
    "ior-easy-read": "ior_easy_read_MBps",
    "mdtest-easy-stat": "mdtest_easy_stat_per_s",
    "ior-hard-read": "ior_hard_read_MBps",
    "mdtest-hard-stat": "mdtest_hard_stat_per_s",
    "mdtest-easy-delete": "mdtest_easy_delete_per_s",
    "mdtest-hard-read": "mdtest_hard_read_per_s",
    "mdtest-hard-delete": "mdtest_hard_delete_per_s",
}
OVER = {  # of all phases → metric
    "bandwidth": "bandwidth_score_GiBps",
    "metadata": "metadata_score_kIOPS",
    "run_time": "run_time_s",
    "shortest_write": "shortest_write_s",
}
_INODE_B = 4096  # that an item takes beside its data, at most
_FOREVER = 1e6  # s
_LEAST = 150  # items of a verified run, so that names with 01 are among them


@frozen
class Options(Folder, Buffers):
    """Options of storage.io500_like.

    Parameters
    ----------
    stonewall : time in which each of the four phases writes or creates, s; a submission to IO500 needs 300.
    transfer_size : size of the easy phases (IO500's transferSize), such as 2Mi.
    limit : B that a rank writes at most in each of the two phases of IOR; reached before the stonewall, it ends them.
    items : items that a rank creates at most in each of the two phases of mdtest (IO500's n).
    cache : `any`: the page cache may answer; `drop`: it is emptied before each phase (IO500's drop-caches), as root.
    directory : folder on the file system to be measured; empty for the folder of temporary files.
    """

    stonewall: float = 0.2
    transfer_size: int | str = "2Mi"
    limit: int | str = "1Gi"
    items: int = 100_000
    cache: Literal["any", "drop"] = "any"
    directory: str = ""

    def __post_init__(self) -> None:
        for name in ("transfer_size", "limit"):
            object.__setattr__(self, name, parse_size(getattr(self, name)))


def _check(spec: Spec[Options]) -> str:
    options, least = spec.options, max(int(spec.options.transfer_size), HARD_SIZE)
    if options.stonewall <= 0:
        return f"stonewall={options.stonewall} s, but it must be above 0. Set stonewall=1."
    if int(options.transfer_size) < 8:
        return f"transfer_size={options.transfer_size} B, but it must be 8 B or more. Set transfer_size=2Mi."
    if int(options.limit) < least:
        return f"limit={options.limit} B holds no transfer of {least} B. Set limit={least} or more."
    if options.items < 1:
        return f"items={options.items}, but it must be 1 or more. Set items=100000."
    return ""


def _file_size(spec: Spec[Options]) -> int:
    """B of all files at the limits."""
    options = spec.options
    return spec.ranks * (2 * int(options.limit) + options.items * (2 * _INODE_B + FILE_SIZE))


def _room(spec: Spec[Options]) -> int:
    return max(int(spec.options.transfer_size), HARD_SIZE)


def _fields(spec: Spec[Options], rank: int) -> dict[str, Any]:
    """Size of a transfer of the easy phases, and limits: transfers of both phases of IOR, and items."""
    size, limit = int(spec.options.transfer_size), int(spec.options.limit)
    drops = spec.options.cache == "drop" and rank % max(spec.ppn, 1) == 0
    if drops and not os.access(storage.DROP, os.W_OK):
        raise KernelError(f"cache=drop, but rank {rank} cannot write {storage.DROP}. Run as root, or set cache=any.")
    return {
        "places": np.array([size, limit // size, limit // HARD_SIZE, spec.options.items], np.int64),
        "own_name": "timestamp",
        "deadline_ns": round(spec.options.stonewall * 1e9),
        "drop": drops,
    }


def _checked(spec: Spec[Options]) -> Spec[Options]:
    options = spec.options
    small = replace(options, stonewall=_FOREVER, limit=4 * _room(spec), items=min(options.items, _LEAST))
    return spec.replace(options=small)


def _folders(spec: Spec[Options]) -> list[str]:
    trees = [f"mdtest-easy/test-dir.0-0/mdtest_tree.{rank}.0" for rank in range(spec.ranks)]
    return [f"data/{name}" for name in ("ior-easy", "ior-hard", "mdtest-hard/test-dir.0-0/mdtest_tree.0", *trees)]


def _complaint(spec: Spec[Options], rank: int, folder: str, received: NDArray[np.uint8]) -> str:
    """Say what a run did not do in full; empty if nothing. The kernel itself compares what it reads."""
    size, limit, items = int(spec.options.transfer_size), int(spec.options.limit), spec.options.items
    start = -(-_room(spec) // 8) * 8
    counts = received[start : start + 48].view(np.int64).tolist()
    names = (f"file.mdtest.{of}.{number}" for of in range(spec.ranks) for number in range(items))
    expected = [limit // size, limit // HARD_SIZE, items, items]
    expected += [spec.ranks * (2 * items + 1) + 1, sum("01" in name for name in names)]
    return "" if counts == expected else f"a run counted {counts}, but must count {expected}"


BENCHMARK = ParallelFileBenchmark(
    title="phases of IO500",
    kernel="io500",
    moves="both",
    dropped=lambda spec: spec.options.cache == "drop",
    options=Options,
    check=_check,
    ranks=(1, None),
    sized=False,
    metrics={"io500_score": lambda spec: 1},
    phases=PHASES | {f"{name}_ns": metric for name, metric in OVER.items()},
    phase_work={
        name: (lambda spec: GiB) if metric.endswith("_MBps") else (lambda spec: 1000) for name, metric in PHASES.items()
    },
    least=lambda spec: 4 * spec.options.stonewall,
    buffers=lambda spec: (_room(spec), _room(spec) + 56),
    cadence="isolated",
    warmup=(0, 0),
    file_size=_file_size,
    path=lambda spec, rank: "data/",
    fields=_fields,
    folders=_folders,
    checked=_checked,
    complaint=_complaint,
)
