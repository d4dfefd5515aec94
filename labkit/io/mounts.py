"""Mounted file systems: which one a path lies on, and whether another machine serves it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# file systems served by another machine
NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "cvmfs2", "daos", "gfs2", "glusterfs", "gpfs", "lustre", "mmfs"}
    | {"ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs", "wekafs"}
)
LOCAL_FUSE = ("fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.squashfuse", "fuse.squashfuse_ll")  # else `fuse.…` is remote


@dataclass(frozen=True)
class Mount:
    """A mounted file system.

    Parameters
    ----------
    point : folder it is mounted on.
    kind : ``ext4``, ``nfs4``, …; ``unknown`` if the kernel does not tell.
    source : device, or server and export.
    options : it is mounted with, those of the mount before those of the file system.
    """

    point: str
    kind: str
    source: str
    options: str = ""

    @property
    def network(self) -> bool:
        """Whether another machine serves its files."""
        return self.kind in NETWORK or (self.kind.startswith("fuse.") and self.kind not in LOCAL_FUSE)

    def __str__(self) -> str:
        return f"{self.kind} ({self.source} on {self.point})"


UNKNOWN = Mount("/", "unknown", "none")


def mounts(table: str | Path = "/proc/self/mountinfo") -> list[Mount]:
    """What is mounted, the earliest first; empty if the kernel does not tell (proc(5), mountinfo)."""
    try:
        lines = Path(table).read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    entries = []
    for line in lines:
        left, _, right = line.partition(" - ")
        words = right.split()
        of_mount, of_system = left.split()[5], words[2] if len(words) > 2 else ""
        options = ",".join(dict.fromkeys(f"{of_mount},{of_system}".rstrip(",").split(",")))
        source = _plain(words[1]) if len(words) > 1 else "none"
        entries.append(Mount(_plain(left.split()[4]), words[0], source, options))
    return entries


def _plain(word: str) -> str:
    """A word of the mount table, where octal numbers encode white space."""
    return re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), word)


def mount_of(path: str | Path, there: Iterable[Mount] | None = None) -> Mount:
    """The file system that a path is on.

    Parameters
    ----------
    there : mounted file systems; this machine's when left out.
    """
    place, mount = os.path.realpath(path), UNKNOWN
    for one in mounts() if there is None else there:
        inside = one.point == "/" or place == one.point or place.startswith(one.point + "/")
        if inside and len(one.point) >= len(mount.point):  # a later mount on the same point covers the earlier
            mount = one
    return mount
