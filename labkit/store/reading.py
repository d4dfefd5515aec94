"""Reads the small files of a campaign, which may come from anybody: bounds sizes, never blocks, checks types."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.store.samples import header

MOST = 64 << 20  # B of a JSON file
EVENTS = 1 << 30  # B of events.jsonl, which has a line for every point
_FACTS: Mapping[str, type] = {
    "name": str,
    "created": str,
    "accepted": str,
    "redacted": str,
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


def text(path: Path, limit: int = MOST) -> str:
    """Return the content of a regular file; bytes that are not UTF-8 are replaced.

    Raises
    ------
    OSError
        If it cannot be read.
    DataError
        If it is a pipe, a device or a folder, or longer than `limit` B.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is not a regular file, but a campaign holds only regular files. Remove it.")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"{path} is longer than {limit:,} B, which labkit never writes there. Restore it.")
    return content.decode(errors="replace")


def ends_a_line(path: Path) -> bool:
    """Return whether a file ends with a line end, or is empty."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or not file.seek(0, os.SEEK_END):
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def table(path: Path) -> dict[str, Any]:
    """Read a file that holds a JSON object.

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
    """Return the facts in campaign.json after checking the types of known keys.

    Raises
    ------
    DataError
        If a known key has another type. The message names it.
    """
    invalid = [name for name, kind in _FACTS.items() if name in facts and not _is(facts[name], kind)]
    invalid += [name for name in _TABLES if name not in invalid and not _all(facts.get(name, {}).values(), dict)]
    if "notebooks" not in invalid and not _all(facts.get("notebooks", []), dict):
        invalid.append("notebooks")
    if invalid:
        kind = _FACTS[invalid[0]].__name__
        raise DataError(
            f"{where} has {invalid[0]}={str(facts[invalid[0]])[:80]!r}, but it must be of type {kind}"
            f"{' with tables' if isinstance(facts[invalid[0]], _FACTS[invalid[0]]) else ''}. Restore the file."
        )
    return facts


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _all(values: Any, kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)
