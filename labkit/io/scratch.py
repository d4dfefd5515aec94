"""Temporary folders that do not outlast the process that owns them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OWNER = "owner"  # file in a folder that its owner locks


@contextmanager
def folder(
    begins: str, within: Path | None = None, *, release: Callable[[Path], object] = lambda left: None
) -> Iterator[Path]:
    """Make a folder, locked by its owner and removed at the end. Folders whose owner was killed are removed first.

    Parameters
    ----------
    begins : prefix of its name, one for each kind of folder.
    within : folder to make it in (default: the system's folder for temporary files).
    release : called with each folder whose owner was killed, before it is removed.
    """
    clear(begins, within, release)
    made = Path(tempfile.mkdtemp(prefix=begins, dir=within))
    try:
        with (made / "owned").open("wb") as mark:
            with suppress(OSError):  # a file system without locks: the folder stays if its owner is killed
                fcntl.flock(mark, fcntl.LOCK_EX)
                (made / "owned").rename(made / OWNER)  # after locking, so that OWNER never exists without its lock
            yield made
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(made)  # errors of writes name no file
        raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def clear(begins: str, within: Path | None = None, release: Callable[[Path], object] = lambda left: None) -> None:
    """Remove folders whose owner was killed.

    Parameters
    ----------
    begins, within, release : as in `folder`.
    """
    for mark in (within or Path(tempfile.gettempdir())).glob(f"{begins}*/{OWNER}"):
        with suppress(OSError):
            if mark.parent.lstat().st_uid == mark.lstat().st_uid == os.geteuid() and not mark.parent.is_symlink():
                handle = os.open(mark, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)  # it may be a pipe
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its owner lives
                    release(mark.parent)
                    shutil.rmtree(mark.parent, ignore_errors=True)
                finally:
                    os.close(handle)
