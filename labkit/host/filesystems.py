"""Which file systems the folders lie on that a rank loads from: its environment, labkit itself, its Python.

Ranks that load from a network file system all ask the same server. `labkit.staging` spares it that.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import labkit

SWITCH = "LABKIT_STAGE"  # variable: auto, yes or no
# file systems whose files another machine serves
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
    """

    point: str
    kind: str
    source: str

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
        entries.append(Mount(_plain(left.split()[4]), words[0], _plain(words[1]) if len(words) > 1 else "none"))
    return entries


def _plain(word: str) -> str:
    """A word of the table, in which white space is written as octal numbers."""
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


def loaded_from() -> dict[str, str]:
    """Folders that a rank loads from by what they are: the environment, labkit and Python itself."""
    return {
        "environment": sys.prefix,
        "labkit": str(Path(labkit.__file__).resolve().parent),
        "Python": sys.base_prefix,
    }


def on_network(folders: Mapping[str, str] | None = None) -> dict[str, Mount]:
    """Those folders that lie on network file systems, each with its file system.

    Parameters
    ----------
    folders : by what they are; `loaded_from` when left out.
    """
    there = mounts()
    mount_by_use = {
        what: mount_of(path, there) for what, path in (loaded_from() if folders is None else folders).items()
    }
    return {what: mount for what, mount in mount_by_use.items() if mount.network}


def facts() -> dict[str, object]:
    """What ``labkit doctor`` judges: file system of the environment, network file systems, the switch."""
    return {
        "filesystem": str(mount_of(sys.prefix)),
        "network": {what: str(mount) for what, mount in on_network().items()},
        "switch": os.environ.get(SWITCH, "auto"),
    }
