"""IOR: all ranks write or read files. A site has built it with an MPI, or ``make ior`` did; Debian has none."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from labkit.errors import DataError
from labkit.formats import ior as layout
from labkit.kernels import programs
from labkit.options.storage import Ior
from labkit.point.spec import Effort, Spec
from labkit.point.storage import Access
from labkit.tools import Invocation, Parsed, Tool, _linked, fit, trimmed

VERSION = rb"IOR-(\d[\w.+-]{0,40}): MPI Coordinated Test"  # it has no option that prints it, and without one it writes
TOOL = Tool(
    name="ior",
    commands=("ior",),
    read_version=lambda: _linked.written(programs.original("ior", "ior"), VERSION) or "unknown",
    find_path=lambda: shutil.which(programs.original("ior", "ior")) or "",
    install=programs.from_source("ior", "~/ior-4.0.0"),
    programs=("ior",),
    format=layout,
    purpose="storage.ior",
    instead="storage.parallel_write and parallel_read need no ior",
)
_SLOWEST_BPS = 20e6  # B/s to reckon with
_SYNCS = {"none": (), "end": ("-e",), "each": ("-Y",)}
REPETITIONS = 8


def transfers(spec: Spec[Ior], effort: Effort) -> Invocation:
    """Tests of one operation; a test that reads writes the files first."""
    options, reads = spec.options, spec.options.operation == "read"
    size = int(options.block_size) * options.segments * spec.ranks
    count = (effort.iterations or REPETITIONS) + (effort.warmup or 0)
    program = programs.original("ior", "ior")
    kind, folder = _linked.mpi(program)
    words = [program, "-a", options.api, "-w", *(["-r"] if reads else []), "-i", str(count)]
    words += ["-b", str(options.block_size), "-t", str(spec.size), "-s", str(options.segments)]
    words += ["-F"] if options.file != "shared" else []
    words += ["-c"] if options.collective else []
    words += ["-C"] if reads and options.reorder else []
    words += [*_SYNCS[options.sync], "-o", "data", "-O", "summaryFormat=JSON"]
    if reads:
        access = Access(page_cache="answers the reads: the file was just written", cached=True)
    elif options.sync == "none":
        access = Access(page_cache="takes the writes; the disk may get them later", cached=True)
    else:
        when = "after each transfer" if options.sync == "each" else "before the file is closed"
        access = Access(page_cache=f"is written to the disk {when}", cached=False)
    seconds = count * (1 + reads) * size / _SLOWEST_BPS + 1

    def parsed(text: str, folder: Path) -> Parsed:
        return parse(text, spec, effort)

    return Invocation(
        tool=TOOL,
        needs=(program,),
        client=tuple(words),
        parse=parsed,
        mpi=kind,
        mpi_folder=folder,
        directory=options.directory,
        prepare=lambda where: fit(where, access, size),
        definition="IOR: bytes of all ranks over the time from the first open to the last close, each repetition.",
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )


def wrong(spec: Spec[Ior]) -> str:
    """Say what IOR itself cannot do; empty if it can."""
    if spec.options.api == "POSIX" and spec.options.collective:
        return "api=POSIX has no collective calls. Set collective=False, or api=MPIIO."
    return ""


def parse(text: str, spec: Spec[Ior], effort: Effort) -> Parsed:
    """Return the time of every repetition.

    Raises
    ------
    DataError
        If IOR ran on another number of ranks: it and its launcher are of different MPI libraries.
    """
    tasks, times = layout.repetitions(text, spec.options.operation, TOOL.name)
    if tasks != spec.ranks:
        raise DataError(
            f"ior ran on {tasks} ranks instead of {spec.ranks}: the launcher and ior use different MPI libraries. "
            "Put an ior that is linked to the launcher's library first on the PATH."
        )
    return trimmed(Parsed(time_ns=np.round(np.array(times) * 1e9).astype(np.int64)), effort)
