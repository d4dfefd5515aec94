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
def folder(begins: str, within: Path | None = None) -> Iterator[Path]:
    """A new folder, removed in the end, and locked while its owner lives; those of owners that were killed are removed.

    Parameters
    ----------
    begins : of its name; folders of a kind have the same.
    within : where it is made; the system's folder for such when left out.
    """
    clear(begins, within)
    made = Path(tempfile.mkdtemp(prefix=begins, dir=within))
    try:
        with (made / "owned").open("wb") as mine:
            with suppress(OSError):  # a file system without locks: then it stays if its owner is killed
                fcntl.flock(mine, fcntl.LOCK_EX)
                (made / "owned").rename(made / OWNER)  # so that it is never there without its lock
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def clear(begins: str, within: Path | None = None) -> None:
    """Remove folders of owners that were killed.

    Parameters
    ----------
    begins, within : as of `folder`.
    """
    for mark in (within or Path(tempfile.gettempdir())).glob(f"{begins}*/{OWNER}"):
        with suppress(OSError):
            if mark.parent.lstat().st_uid == mark.lstat().st_uid == os.geteuid() and not mark.parent.is_symlink():
                handle = os.open(mark, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # it may be a pipe
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its owner lives
                    shutil.rmtree(mark.parent, ignore_errors=True)
                finally:
                    os.close(handle)
