"""MPI-IO: options, the forms of its benchmarks, and the content that files and buffers must have afterwards."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from labkit.benchmarks import FileBenchmark
from labkit.benchmarks.mpi import Values
from labkit.benchmarks.mpi._forms import OVERLAP, PHASES, overlap_io
from labkit.options import frozen, ranks
from labkit.options.ranks import Buffers, Overlapping
from labkit.point.spec import Scalar, Spec, has

POINTERS = ("individual", "explicit", "shared")  # numbered as in kernels/file.c; the collective ones follow
_LETTERS = {"single": "S", "parallel": "P", "collective": "C"}
_WORDS = {"individual": "Indv", "explicit": "Expl", "shared": "Shared", "private": "Priv"}


@frozen
class Access(ranks.Access, Buffers):
    """Options of reading and writing."""


@frozen
class Writing(Access):
    """Options of writing.

    Parameters
    ----------
    sync : MPI_File_sync after every write, inside its time (IMB's non-aggregate mode).
    """

    sync: bool = False


@frozen
class BehindReading(Overlapping, Access):
    """Options of reading while computing."""


@frozen
class BehindWriting(Overlapping, Writing):
    """Options of writing while computing."""


def check(spec: Spec[Access]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    access, pointer = spec.options.access, spec.options.pointer
    if access == "single" and pointer in ("shared", "private"):
        return f"access=single uses one rank only, so pointer={pointer} has no effect. Set pointer=individual."
    if access == "collective" and pointer == "private":
        return "access=collective needs one file for all ranks. Set pointer=individual."
    if has(spec.options, Overlapping) and (not spec.options.overlap or spec.options.tests):
        return "the IMB test always computes, without MPI_Test. Set overlap=True and tests=0."
    return ""


def check_behind(spec: Spec[Access]) -> str:
    """Say what is wrong with the options of non-blocking calls; MPI has no ordered one."""
    if spec.options.access == "collective" and spec.options.pointer == "shared":
        return "MPI has no non-blocking ordered call. Set access=parallel."
    return check(spec)


def active(spec: Spec[Access], rank: int) -> bool:
    """Whether a rank moves data."""
    return rank == 0 or spec.options.access != "single"


def work(spec: Spec[Access]) -> Mapping[str, Any]:
    """Fields of the kernel's job."""
    pointer = spec.options.pointer
    mode = POINTERS.index("individual" if pointer == "private" else pointer)
    collective = spec.options.access == "collective"
    shared = spec.options.access != "single" and pointer != "private"
    synced = has(spec.options, Writing) and spec.options.sync
    return {"mode": mode + 3 * collective, "isolated": shared, "tests": synced}


def _synced(spec: Spec[Access]) -> str:
    """When MPI_File_sync is called."""
    return "after every write" if has(spec.options, Writing) and spec.options.sync else ""


def moved(spec: Spec[Access]) -> int:
    """B of one iteration."""
    return spec.size * (1 if spec.options.access == "single" else spec.ranks)


def expected(spec: Spec[Access], rank: int, send: Callable[[int], Values]) -> Values | None:
    """The data that a rank's part of the file must hold or yield.

    With the shared pointer, any rank's data are allowed.
    """
    if not active(spec, rank):
        return None
    if spec.options.pointer == "shared" and spec.options.access == "parallel":
        return np.stack([send(r) for r in range(spec.ranks)])
    return send(rank)


def names(way: str, options: Mapping[str, Scalar]) -> dict[str, dict[str, Scalar]]:
    """IMB-IO's tests of reads or writes → our options."""
    tests: dict[str, dict[str, Scalar]] = {}
    for access, letter in _LETTERS.items():
        for pointer, word in _WORDS.items():
            if access == "single" and pointer in ("shared", "private"):
                continue
            if access == "collective" and pointer == "private":
                continue
            tests[f"IMB-IO {letter}_{way}_{word}"] = {"access": access, "pointer": pointer, **options}
    return tests


def blocking(way: Literal["read", "write"], options: type[Access], more: Mapping[str, Scalar]) -> FileBenchmark:
    """Make a benchmark of one blocking access of every rank.

    Parameters
    ----------
    more : options of IMB-IO's tests that their names do not show.
    """
    return FileBenchmark(
        title=f"MPI-IO {way}",
        kernel=f"file_{way}",
        moves=way,
        synced=_synced,
        options=options,
        check=check,
        ranks=(1, None),
        sizes="1:16Mi",
        metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": moved},
        active=active,
        work=work,
        expected=expected,
        cadence="streaming",
        warmup=(10, 2),
        equivalents=names(way.capitalize(), more),
    )


def nonblocking(blocking: FileBenchmark, options: type[Access], more: Mapping[str, Scalar]) -> FileBenchmark:
    """Make the non-blocking form of a benchmark, with computation in the meantime."""
    way = blocking.moves.capitalize()
    equivalents = names(f"I{way}", more)
    equivalents.pop(f"IMB-IO C_I{way}_Shared")  # MPI has no such call
    return dataclasses.replace(
        blocking,
        title=f"{blocking.title}, non-blocking",
        kernel=f"file_i{blocking.moves}",
        options=options,
        check=check_behind,
        phases=PHASES,
        derived=OVERLAP | {"overlap_imb_percent": overlap_io},
        equivalents=equivalents,
        doc=_BEHIND_DOC.format(way=way, plain=blocking.moves),
    )


_BEHIND_DOC = """MPI-IO: one non-blocking {plain} of every rank, with computation in the meantime.

Pure time, computation alone, and both together, as in mpi.iallreduce; the options of mpi.file_{plain}. The definitions
of IMB-IO I{way}; MPI has no non-blocking call on the ordered shared pointer, which IMB's C_I{way}_Shared replaces by
the non-collective one.
"""
