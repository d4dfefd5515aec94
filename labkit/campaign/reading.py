"""Reads the small files of a campaign, which may come from anybody: bounded, never blocking, types checked."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.samples import header

MOST = 64 << 20  # B of a JSON file
LOG = 1 << 30  # B of log.txt, which has a line for every point
_FACTS: Mapping[str, type] = {
    "name": str,
    "created": str,
    "id": str,
    "suite": str,
    "title": str,
    "labkit": str,
    "host": dict,
    "parameters": dict,
    "origins": dict,
    "absent": dict,
    "planned": int,
    "sweep": dict,
    "notebooks": list,
    "skipped": list,
}
_TABLES = ("parameters", "origins")  # of tables


def text(path: Path, most: int = MOST) -> str:
    """Content of a regular file; bytes that are no UTF-8 are replaced.

    Raises
    ------
    OSError
        If it cannot be read.
    DataError
        If it is a pipe, a device or a folder, or longer than `most` B.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise DataError(f"{path} is not a regular file, but a campaign holds only regular files. Remove it.")
        content = file.read(most + 1)
    if len(content) > most:
        raise DataError(f"{path} is longer than {most:,} B, which labkit never writes there. Restore it.")
    return content.decode(errors="replace")


def first_line(path: Path) -> str:
    """The first line of a file, its first 4 KiB at most; empty where there is none."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(4096).partition(b"\n")[0].decode(errors="replace") if regular else ""
    except OSError:
        return ""


def ends_a_line(path: Path) -> bool:
    """Whether a file ends with a line end, or is empty."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def table(path: Path) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises
    ------
    OSError
        If it cannot be read.
    DataError
        If it holds something else.
    """
    try:
        return header.plain(text(path).encode())
    except ValueError as error:
        raise DataError(f"{error}.") from error


def checked(facts: dict[str, Any], where: object) -> dict[str, Any]:
    """What campaign.json holds, with the types that labkit relies on.

    Raises
    ------
    DataError
        If a known key has another type; names it.
    """
    wrong = [name for name, kind in _FACTS.items() if name in facts and not _is(facts[name], kind)]
    wrong += [name for name in _TABLES if name not in wrong and not _all(facts.get(name, {}).values(), dict)]
    wrong += [name for name in ("notebooks",) if name not in wrong and not _all(facts.get(name, []), dict)]
    if wrong:
        kind = _FACTS[wrong[0]].__name__
        raise DataError(
            f"{where} has {wrong[0]}={str(facts[wrong[0]])[:80]!r}, but it must be of type {kind}"
            f"{' with tables' if isinstance(facts[wrong[0]], _FACTS[wrong[0]]) else ''}. Restore the file."
        )
    return facts


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _all(values: Any, kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)
