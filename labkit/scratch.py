"""Folders for what only lasts as long as its owner, below the system's folder for such."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OWNER = "owner"  # file in a folder that its owner locks


@contextmanager
def folder(begins: str) -> Iterator[Path]:
    """A new folder, removed in the end, and locked while its owner lives; those of owners that were killed are removed.

    Parameters
    ----------
    begins : of its name; folders of a kind have the same.
    """
    for mark in Path(tempfile.gettempdir()).glob(f"{begins}*/{OWNER}"):
        with suppress(OSError):
            if mark.parent.lstat().st_uid == mark.lstat().st_uid == os.geteuid() and not mark.parent.is_symlink():
                with mark.open("rb") as held:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its owner lives
                    shutil.rmtree(mark.parent, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=begins))
    try:
        with (made / "owned").open("wb") as mine:
            fcntl.flock(mine, fcntl.LOCK_EX)
            (made / "owned").rename(made / OWNER)  # so that it is never there without its lock
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
