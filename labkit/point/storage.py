"""What numbers of storage depend on: file system, device, memory, and whether the page cache could have answered.

This module uses only the standard library, because ranks describe the folders of their own hosts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from labkit.io.mounts import mount_of
from labkit.point.notes import Note, Scalar, badge
from labkit.point.units import MiB, format_number

MEMORY = ("tmpfs", "ramfs")  # file systems without a device
SCRATCH = "LABKIT_SCRATCH"  # variable of ranks with the folder of a testbed's file system
SPARE = 64 * MiB  # B left free for everybody else
DROP = "/proc/sys/vm/drop_caches"  # what is written there empties the page cache


@dataclass(frozen=True, kw_only=True)
class Access:
    """How a benchmark opens its files, and what that leaves to the page cache.

    Parameters
    ----------
    page_cache : what the page cache does, in words.
    cached : whether it may answer.
    o_sync, o_direct : flags of open(2) that the files are opened with.
    """

    page_cache: str
    cached: bool
    o_sync: bool = False
    o_direct: bool = False

    def facts(self, folder: str | Path, file_size: int) -> dict[str, Scalar]:
        """Facts of a point, for its metadata.

        Parameters
        ----------
        folder : folder that the files lie in.
        file_size : size of all files that are read or written, B.
        """
        mount, memory = mount_of(folder), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {
            "filesystem": mount.kind,
            "mount_options": mount.options,
            "device": mount.source,
            "page_cache": self.page_cache,
            "cacheable": self._cacheable(mount.kind, file_size, memory),
            "file_B": file_size,
            "memory_B": memory,
            "o_sync": self.o_sync,
            "o_direct": self.o_direct,
            "drop_caches": os.access(DROP, os.W_OK),
        }

    def _cacheable(self, kind: str, file_size: int, memory: int) -> Literal["none", "part", "all"]:
        """The part of the files that memory could hold."""
        if kind in MEMORY:
            return "all"
        if not self.cached:
            return "none"
        return "all" if file_size <= memory else "part"


def folder(named: str) -> str:
    """Return the folder of a rank's files: the user's, the testbed's, or the system's."""
    return named or os.environ.get(SCRATCH) or tempfile.gettempdir()


def badges(facts: Mapping[str, Any]) -> list[Note]:
    """Badges of a point with files that memory could have held, from its facts."""
    if facts.get("filesystem") in MEMORY:
        return [badge("memory file system")]
    return [badge("page cache")] if facts.get("cacheable") in ("part", "all") else []


def unfit(folder: str | Path, *, needs: int, direct: bool = False, named: str | Path = "") -> str:
    """Say why a folder cannot take the files of a benchmark; empty if it can.

    Parameters
    ----------
    folder : existing.
    needs : B that will be written there.
    direct : whether O_DIRECT is requested.
    named : the folder that the user knows; `folder` if left out.
    """
    named, mount = named or folder, mount_of(folder)
    if direct and mount.kind in MEMORY:
        return (
            f"{named} is {mount.kind}: files there are in memory, and O_DIRECT has nothing to bypass. "
            "Name a directory on a disk, or do without direct."
        )
    free = shutil.disk_usage(folder).free
    if free < needs + SPARE:
        return (
            f"{named} has {_size(free)} free, but the files need {_size(needs)}, and "
            f"{_size(SPARE)} must be left. Make the files smaller, or name another directory."
        )
    return ""


def full(folder: str | Path) -> str:
    """Say that the file system of a folder is full, if it is: why a benchmark that writes there failed; else empty."""
    usage, mount = shutil.disk_usage(folder), mount_of(folder)
    if usage.free > usage.total // 1000:
        return ""
    return (
        f"The file system on {mount.point} ({mount.kind}) is full: {_size(usage.free)} of "
        f"{_size(usage.total)} are free. Free space there, make the files smaller, or name another directory."
    )


def _size(count: int) -> str:
    return format_number(count / MiB, "MiB", digits=3)
