"""Parallel files as IOR lays them out: options, places of the transfers in a file, and what the files must hold."""

import errno
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import ParallelFileBenchmark
from labkit.options import frozen
from labkit.options.ranks import Buffers, Folder
from labkit.point.spec import Spec, has
from labkit.point.units import parse_size

SYNCS = ("none", "end", "each")  # numbered as in kernels/parallel_io.c
_STAMP = 8  # B at the start of a transfer that say where in the file it belongs
_FOREVER = 1e6  # s
_CHECKED = 4  # transfers of a block, and segments, that are verified


class Blocks(Protocol):
    """Options that lay out a file, also for IOR itself."""

    @property
    def file(self) -> str: ...
    @property
    def block_size(self) -> int | str: ...
    @property
    def segments(self) -> int: ...
    @property
    def collective(self) -> bool: ...


@frozen
class Layout(Folder, Buffers):
    """Options of parallel files.

    Parameters
    ----------
    file : all ranks `shared` one, or each has its own (`file per process`, IOR's -F).
    block_size : contiguous data of a rank in a segment (IOR's -b), such as 1Mi; a whole number of transfers.
    segments : segments of a file; each holds a block of every rank (IOR's -s).
    collective : all ranks make each transfer together (MPI_File_write_at_all; IOR's -c).
    directory : folder on the file system to be measured; empty for the folder of temporary files.
    """

    file: Literal["shared", "file per process"] = "shared"
    block_size: int | str = "1Mi"
    segments: int = 1
    collective: bool = False
    directory: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_size", parse_size(self.block_size))


@frozen
class Writing(Layout):
    """Options of writing.

    Parameters
    ----------
    sync : MPI_File_sync never (`none`), after the last transfer (`end`, IOR's -e) or after each one (`each`, -Y).
    """

    sync: Literal["none", "end", "each"] = "none"


@frozen
class Reading(Layout):
    """Options of reading.

    Parameters
    ----------
    reorder : each rank reads the data of the rank at this offset. IOR's -C takes the number of ranks on a host.
    rewrite : the files are written again before each iteration, untimed, as in IOR's repetitions with -w and -r; else
        all iterations read the same files (IOR's -r -k -E), whose data the caches of the cores may still hold.
    cache : `any`: the page cache may answer; `drop`: it is asked to forget the file first.
    """

    reorder: int = 1
    rewrite: bool = True
    cache: Literal["any", "drop"] = "any"


@frozen
class Stonewall:
    """Options of transfers until a deadline.

    Parameters
    ----------
    stonewall : time after which a rank begins no further transfer (IOR's -D), s.
    wear_out : every rank continues until it has made as many transfers as the fastest one (IOR's stoneWallingWearOut).
    """

    stonewall: float = 1.0
    wear_out: bool = False


@frozen
class StonewalledWriting(Stonewall, Writing):
    """Options of writing until a deadline."""


@frozen
class StonewalledReading(Stonewall, Reading):
    """Options of reading until a deadline."""


def check(spec: Spec[Blocks]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    block, segments, options = int(spec.options.block_size), spec.options.segments, spec.options
    if spec.size < 1 or block < spec.size or block % spec.size:
        multiple = max(block // spec.size, 1) * spec.size if spec.size else block
        return (
            f"block_size={block} B is not a whole number of transfers of size={spec.size} B. Set block_size={multiple}"
            f"{'' if spec.size else ' and size=65536'}."
        )
    if segments < 1:
        return f"segments={segments}, but it must be 1 or more. Set segments=1."
    if spec.options.collective and private(spec):
        return "file='file per process' has one rank for each file. Set collective=False, which is the same there."
    if has(options, Reading) and options.reorder < 0:
        return f"reorder={options.reorder}, but it must be 0 or more. Set reorder=1."
    if has(options, Stonewall) and options.stonewall <= 0:
        return f"stonewall={options.stonewall} s, but it must be above 0. Set stonewall=1."
    return ""


def private(spec: Spec[Blocks]) -> bool:
    """Whether each rank has its own file."""
    return spec.options.file != "shared"


def transfers(spec: Spec[Blocks]) -> int:
    """Number of transfers of a rank."""
    return spec.options.segments * (int(spec.options.block_size) // spec.size)


def file_size(spec: Spec[Blocks]) -> int:
    """B of all ranks' files."""
    return transfers(spec) * spec.size * spec.ranks


def source(spec: Spec, rank: int) -> int:
    """The rank that wrote the data which a rank uses: itself, or another one when it reads."""
    return (rank + (spec.options.reorder if has(spec.options, Reading) else 0)) % spec.ranks


def path(spec: Spec[Layout], rank: int) -> str:
    """Name of the file that a rank opens."""
    return f"data.{source(spec, rank):08d}" if private(spec) else "data"


def places(spec: Spec[Blocks], rank: int) -> NDArray[np.int64]:
    """Where the transfers of a rank's data are in its file, (transfers,) B.

    Segment after segment; in each, a shared file has one block of every rank (IOR's ``WriteOrRead``).

    Examples
    --------
    >>> options = {"file": "shared", "block_size": 4, "segments": 2}
    >>> places(Spec(benchmark="storage.parallel_write", size=2, ranks=3, options=options), 1)
    array([ 4,  6, 16, 18])
    """
    block, ranks = int(spec.options.block_size), 1 if private(spec) else spec.ranks
    starts = (np.arange(spec.options.segments) * ranks + (0 if private(spec) else rank)) * block
    return (starts[:, None] + np.arange(0, block, spec.size)).ravel().astype(np.int64)


def content(spec: Spec, rank: int, place: int) -> NDArray[np.uint8]:
    """What a rank writes to a place of its file, (size,)."""
    values = ((np.arange(spec.size) * 7 + 13 * rank) % 251).astype(np.uint8)
    if spec.size >= _STAMP:
        values[:_STAMP] = np.array([place], np.int64).view(np.uint8)
    return values


def checked(spec: Spec[Layout]) -> Spec[Layout]:
    """The spec with a few segments and transfers, and time for all of them."""
    options = replace(
        spec.options,
        block_size=min(int(spec.options.block_size), _CHECKED * spec.size),
        segments=min(spec.options.segments, _CHECKED),
    )
    if has(options, StonewalledWriting) or has(options, StonewalledReading):
        options = replace(options, stonewall=_FOREVER)
    return spec.replace(options=options)


def _in_order(spec: Spec[Layout]) -> Spec[Layout]:
    """The spec with each rank at its own data."""
    options = spec.options
    return spec.replace(options=replace(options, reorder=0)) if has(options, Reading) else spec


def fill(spec: Spec[Layout], rank: int, folder: str) -> None:
    """Write a rank's data, for others to read."""
    mine = _in_order(spec)
    file = os.open(Path(folder, path(mine, rank)), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for place in places(mine, rank).tolist():
            data = content(mine, rank, place).tobytes()
            if os.pwrite(file, data, place) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)


def complaint_of_writing(spec: Spec[Layout], rank: int, folder: str, received: NDArray[np.uint8]) -> str:
    """Return where the next rank's data in the file first differ from what that rank wrote; empty if they do not."""
    other = (rank + 1) % spec.ranks
    with Path(folder, path(spec, other)).open("rb") as file:
        for place in places(spec, other).tolist():
            file.seek(place)
            if wrong := _differs(file.read(spec.size), content(spec, other, place)):
                return f"{wrong} at {place} B of the file, written by rank {other}"
        end = file.seek(0, os.SEEK_END)
    whole = file_size(spec) // (spec.ranks if private(spec) else 1)
    return "" if end == whole else f"the file has {end} B, but must have {whole} B"


def complaint_of_reading(spec: Spec[Layout], rank: int, folder: str, received: NDArray[np.uint8]) -> str:
    """Return where the data that a rank read first differ from what the other rank wrote; empty if they are equal."""
    other = source(spec, rank)
    for number, place in enumerate(places(spec, other).tolist()):
        found = received[number * spec.size : (number + 1) * spec.size].tobytes()
        if wrong := _differs(found, content(spec, other, place)):
            return f"{wrong} at {place} B of the file of rank {other}, read by rank {rank}"
    return ""


def _differs(found: bytes, expected: NDArray[np.uint8]) -> str:
    if found == expected.tobytes():
        return ""
    differing = np.count_nonzero(np.frombuffer(found.ljust(len(expected)), np.uint8) != expected)
    return f"{differing} of {len(expected)} B differ"


def _work(spec: Spec[Layout]) -> Mapping[str, Any]:
    options = spec.options
    until = options if has(options, Stonewall) else None
    return {
        "mode": options.collective,
        "tests": SYNCS.index(options.sync if has(options, Writing) else "none"),
        "drop": has(options, Reading) and options.cache == "drop",
        "rewrite": has(options, Reading) and options.rewrite,
        "deadline_ns": round(until.stonewall * 1e9) if until else 0,
        "wear_out": until is not None and until.wear_out,
    }


def _fields(spec: Spec[Layout], rank: int) -> dict[str, Any]:
    """Where the transfers of a rank are, and those that it wrote for others."""
    found = places(spec, source(spec, rank))
    own = path(_in_order(spec), rank)
    return {"places": found, "nplaces": len(found), "own_places": places(spec, rank), "own_name": own}


def _until_deadline(means: Mapping[str, NDArray[np.int64]]) -> float:
    """Mean time of an iteration for each byte that it moved, s; NaN if it moved none."""
    moved = float(means["moved"].mean())
    return float(means["time_ns"].mean()) * 1e-9 / moved if moved > 0 else math.nan


def _synced(spec: Spec[Layout]) -> str:
    """When MPI_File_sync is called."""
    when = {"each": "after every transfer", "end": "after the last transfer"}
    return when.get(spec.options.sync, "") if has(spec.options, Writing) else ""


def benchmark(
    way: Literal["read", "write"], options: type[Layout], doc: str = "", complaint: Callable[..., str] | None = None
) -> ParallelFileBenchmark:
    """Make a benchmark of one direction.

    Parameters
    ----------
    doc : empty for that of the file.
    complaint : of the verification.
    """
    stonewalled = issubclass(options, Stonewall)
    writes = way == "write"
    rate = {} if stonewalled else {"bandwidth_MBps": file_size}
    phases = {"open_ns": "open_us", "access_ns": "access_us" if stonewalled else "iops_per_s", "close_ns": "close_us"}
    return ParallelFileBenchmark(
        title=f"parallel {way}" + (" until a deadline" if stonewalled else ""),
        kernel=f"parallel_{way}",
        moves=way,
        synced=_synced,
        dropped=lambda spec: has(spec.options, Reading) and spec.options.cache == "drop",
        options=options,
        check=check,
        ranks=(1, None),
        sizes="64Ki:1Mi:*4",
        metrics={**rate, "run_time_s": lambda spec: 1},
        phases={**phases, **({"moved": "moved_MB"} if stonewalled else {})},
        phase_work={} if stonewalled else {"access_ns": lambda spec: transfers(spec) * spec.ranks},
        derived={"bandwidth_MBps": _until_deadline} if stonewalled else {},
        every_time=stonewalled,
        work=_work,
        cadence="isolated",
        size_label="transfer size (B)",
        warmup=(1, 1),
        file_size=file_size,
        path=path,
        owns=lambda spec, rank: rank == 0 or private(spec),
        alone=private,
        amode=("WRONLY", "CREATE", "UNIQUE_OPEN") if writes else ("RDONLY", "UNIQUE_OPEN"),  # as IOR
        fields=_fields,
        fill=(lambda spec, rank, folder: None) if writes else fill,
        checked=checked,
        complaint=complaint_of_writing if writes else complaint_of_reading,
        doc=doc,
    )
