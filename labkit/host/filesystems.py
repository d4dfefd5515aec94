"""Which file systems the folders lie on that a rank loads from: its environment, labkit itself, its Python.

Ranks that load from a network file system all ask the same server. `labkit.run.staging` spares it that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import labkit
from labkit.io.mounts import Mount, mount_of, mounts

SWITCH = "LABKIT_STAGE"  # variable: auto, yes or no


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
