"""Check the folder that a storage tool works in, and describe its file system."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from labkit.errors import SpecError
from labkit.spec import Scalar
from labkit.units import format_size

MEMORY = ("tmpfs", "ramfs")
_SPARE = 64 * 2**20  # B left free for everybody else


def facts(folder: Path, *, needs: int, direct: bool) -> dict[str, Scalar]:
    """Return file system and device of a folder, and the memory that may hold a page cache.

    Parameters
    ----------
    folder : existing.
    needs : B that will be written there.
    direct : whether O_DIRECT is asked for.

    Raises
    ------
    SpecError
        If there is not enough room, or O_DIRECT is asked for in a file system that lies in memory.
    """
    kind, device = _mount(folder)
    if direct and kind in MEMORY:
        raise SpecError(
            f"{folder.parent} is {kind}: files there are in memory, and O_DIRECT has nothing to bypass. "
            "Name a directory on a disk, or do without direct."
        )
    free = shutil.disk_usage(folder).free
    if free < needs + _SPARE:
        raise SpecError(
            f"{folder.parent} has {free} B free, but the files need {format_size(needs)}, and 64 MiB must be left. "
            "Make the files smaller, or name another directory."
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"filesystem": kind, "device": device, "memory_B": memory}


def _mount(folder: Path) -> tuple[str, str]:
    """Return type and source of the mount that holds a folder (proc(5), mountinfo)."""
    deepest, mount = "", ("unknown", "unknown")
    path = str(folder.resolve())
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount_fields, _, source_fields = line.partition(" - ")
        point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), mount_fields.split()[4])
        inside = point == "/" or path == point or path.startswith(point + "/")
        if inside and len(point) >= len(deepest):  # a later mount on the same point covers the earlier
            kind, device = source_fields.split()[:2]
            deepest, mount = point, (kind, device)
    return mount
