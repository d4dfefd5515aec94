"""Checks names that become paths: which names are allowed, and that a path stays inside its folder."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePosixPath

from labkit.errors import DataError
from labkit.point.spec import BENCHMARK
from labkit.store.samples.compacted import FINGERPRINT
from labkit.store.samples.start import DIGEST, file_name

LONGEST = 255  # B of one part, as file systems have it


def shown(name: str) -> str:
    """Return a name for a message; escape it if it holds control characters."""
    return name if name.isprintable() else ascii(name)


def problem(name: str) -> str:
    """Return why a name is not a relative path inside a folder; empty if it is one.

    Parameters
    ----------
    name : parts joined by ``/``.
    """
    if not name:
        return "the name is empty"
    if name.startswith("/"):
        return "an absolute path"
    for part in name.split("/"):
        if part in ("", ".", ".."):
            return f"the name has the part {part!r}"
        if "\\" in part or any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp") for c in part):
            return "the name has a backslash, a control character or an invisible character"
        if part != part.strip():
            return "a part of the name begins or ends with a space"
        if len(part.encode()) > LONGEST:
            return f"a part of the name is longer than {LONGEST} B"
    return ""


def part(name: object, what: str) -> str:
    """Return the name of one folder or file after checking it.

    Parameters
    ----------
    what : what the error calls it.

    Raises
    ------
    DataError
        If it is not such a name.
    """
    if not isinstance(name, str):
        why = "no text"
    elif "/" in name:
        why = "it has a /"
    else:
        why = problem(name)
    if why:
        raise DataError(f"{what} is {shown(str(name)[:80])!r}: {why}. It must be the name of one folder or file.")
    return str(name)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a name below a folder, links resolved.

    Raises
    ------
    DataError
        If the name is not allowed, or the path leaves the folder.
    """
    if why := problem(name):
        raise DataError(f"{shown(name)}: {why}. It must be a path inside {folder}.")
    root, path = os.path.realpath(folder), os.path.realpath(folder / PurePosixPath(name))
    if os.path.commonpath([root, path]) != root or path == root:
        raise DataError(f"{shown(name)} leads to {shown(path)}, which is outside of {folder}. Remove the link.")
    return Path(path)


def point(benchmark: str, fingerprint: str, launch: int) -> str:
    """Return the name of the samples file of a point below the campaign's folder.

    Raises
    ------
    DataError
        If one of its parts is not as labkit writes it.
    """
    if not BENCHMARK.fullmatch(benchmark):
        raise DataError(f"benchmark={shown(benchmark)!r}, but it must be of the form family.name. See 'labkit list'.")
    if not isinstance(fingerprint, str) or not FINGERPRINT.fullmatch(fingerprint):
        raise DataError(f"fingerprint={fingerprint!r}, but it must be sixteen hex digits.")
    if isinstance(launch, bool) or not isinstance(launch, int) or not 0 <= launch < 2**31:
        raise DataError(f"launch={launch!r}, but it must be a whole number, 0 or more.")
    return f"samples/{benchmark}/{fingerprint}-{launch}.parquet"


def start(digest: str) -> str:
    """Return the name of the record of a start below the campaign's folder.

    Raises
    ------
    DataError
        If its digest is not as labkit writes it.
    """
    if not DIGEST.fullmatch(digest):
        raise DataError(f"{shown(digest[:80])!r} is not the name of a start's record: it must be sixteen hex digits.")
    return file_name(digest)
