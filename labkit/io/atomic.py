"""Write files: a regular file under another name and then renamed, a device or a pipe directly.

A reader of a regular file sees the old content or the new one, never half of it, even after a crash of the writer. A
`durable` file also survives a power failure: its content is on the disk before it gets its name, and its name is on the
disk before the writer continues. A file must not replace a device, a FIFO or ``-`` (standard output), so labkit writes
to them in place.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from labkit.errors import DataError
from labkit.io import safe_read

Content = bytes | str | Callable[[Path], object]
STDOUT = "-"
_WAITING = 16  # files that are waited for at once
PATIENCE = 10.0  # s that labkit waits for the reader of a FIFO
_UNFINISHED = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)-(?P<space>[0-9a-f]{8})-[0-9a-f]{8}", re.DOTALL)
_DIRECT = ("/dev/fd/", "/dev/std", "/proc/")  # names of descriptors, which a renamed file would leave empty


@contextmanager
def opened(target: str | Path) -> Iterator[IO[bytes]]:
    """Open an output for writing; a regular file appears complete when the context ends, or not at all.

    Parameters
    ----------
    target : a file, a device, a FIFO, or ``-`` for standard output. A link is followed, except one in a campaign.

    Raises
    ------
    DataError
        If it cannot be written; the message says why and what to do.
    """
    try:
        if str(target) == STDOUT:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        _refuse_planted(target)
        place = Path(os.path.realpath(target))
        kind = _kind(target, place)
        if kind == "regular":
            with _whole(place) as file:
                yield file
        else:
            with io.BufferedWriter(_Stream(_descriptor(Path(target), kind), "wb")) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(target, error) from error
    except ValueError as error:  # a name with a zero byte
        if "\0" not in str(target):
            raise
        raise DataError(
            f"{str(target)!r} cannot be written: its name holds a zero byte. Name another place."
        ) from error


def text(target: str | Path, words: str) -> None:
    """Write text as UTF-8."""
    with opened(target) as file:
        file.write(words.encode("utf-8", errors="surrogateescape"))


def replace(path: Path, content: Content, *, durable: bool = False) -> None:
    """Write a file, and replace the one of this name if there is one.

    Parameters
    ----------
    content : bytes, text (UTF-8), or a function that writes them to a path.
    durable : whether it survives a power failure; this waits for the disk.

    Raises
    ------
    OSError
        If it cannot be written. The old file stays, and no other file remains.
    """
    with aside(path) as fresh:
        _fill(fresh, content, 0o666)
        move(fresh, path, durable=durable)


def create(path: Path, content: Content, *, mode: int = 0o666, durable: bool = False) -> bool:
    """Write a file unless something has its name. If several processes try at once, one succeeds.

    Parameters
    ----------
    content, durable : as in `replace`.
    mode : mode of the file before the umask; a function as content sets its own.

    Returns
    -------
    Whether it was written. On NFS 3 this may be false although it was; a caller that must know reads the content.

    Raises
    ------
    OSError
        If it cannot be written, or the file system has no hard links.
    """
    with aside(path) as fresh:
        _fill(fresh, content, mode)
        if durable:
            settle(fresh)
        try:
            os.link(fresh, path)
        except FileExistsError:
            return False
    if durable:
        settle(path.parent)
    return True


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """Name a new file beside another, for `move`. A file that still has this name when the context ends is removed."""
    if len(os.fsencode(path.name)) > 255:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(path))
    unique = f"{os.getpid()}-{_space()}-{secrets.token_hex(4)}"
    fresh = path.with_name(f".{path.name}.{unique}")
    if len(os.fsencode(fresh.name)) > 255:
        fresh = path.with_name(f".labkit.{unique}")
    try:
        yield fresh
    except OSError as error:
        if error.filename is None or Path(os.fsdecode(error.filename)).name == fresh.name:
            error.filename = str(path)  # errors of writes name no file, and the temporary name means nothing to users
        raise
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def clear(folder: Path, name: str = "") -> None:
    """Remove unfinished files of dead processes of this host.

    Parameters
    ----------
    folder : folder with the files.
    name : name of the file to be written; any if left out.
    """
    with suppress(OSError):
        for entry in os.listdir(folder):  # noqa: PTH208 (names alone)
            unfinished = _UNFINISHED.fullmatch(entry)
            if unfinished is None or unfinished["space"] != _space() or (name and unfinished["name"] != name):
                continue
            if not Path(f"/proc/{unfinished['pid']}").exists():
                (folder / entry).unlink(missing_ok=True)


@cache
def _space() -> str:
    """Return eight digits that identify host and process namespace, within which process numbers are unique."""
    space = f"{os.uname().nodename} {Path('/proc/self/ns/pid').readlink()}"
    return hashlib.sha256(space.encode()).hexdigest()[:8]


def move(fresh: Path, path: Path, *, durable: bool = False) -> None:
    """Give a complete file its name. With `durable`, file and name are on the disk when this returns."""
    if durable:
        settle(fresh)
    fresh.rename(path)
    if durable:
        settle(path.parent)


def move_all(pairs: Sequence[tuple[Path, Path]]) -> None:
    """Give complete files their final names: first flush all contents to disk, then the names in each folder."""
    fresh_paths = [fresh for fresh, _ in pairs]
    if len(pairs) > 1:
        with ThreadPoolExecutor(min(len(pairs), _WAITING)) as pool:  # what waits at once, the disk writes at once
            list(pool.map(settle, fresh_paths))
    else:
        list(map(settle, fresh_paths))
    for fresh, path in pairs:
        fresh.rename(path)
    for folder in {path.parent for _, path in pairs}:
        settle(folder)


def settle(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fill(fresh: Path, content: Content, mode: int) -> None:
    """Write the content of a new file."""
    if callable(content):
        content(fresh)
        return
    data = content.encode("utf-8", errors="surrogateescape") if isinstance(content, str) else content
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:  # noqa: PTH123
        file.write(data)


def is_file(target: str | Path) -> bool:
    """Whether an output is a regular file that exists already."""
    try:
        return str(target) != STDOUT and stat.S_ISREG(Path(target).stat().st_mode)
    except OSError:
        return False


def unwritable(target: str | Path, error: OSError) -> DataError:
    """Return the error for an output that cannot be written, with the remedy."""
    remedies = {
        errno.EISDIR: "Name a file in it",
        errno.ENOENT: f"Create its folder first: mkdir -p {Path(target).parent}",
        errno.ENOTDIR: "Name a file in a folder",
        errno.ENXIO: f"Nobody has read the pipe for {PATIENCE:g} s. Start its reader first",
    }
    remedy = remedies.get(error.errno or 0) or safe_read.remedy(error)
    return DataError(f"{target} cannot be written: {error.strerror or error}. {remedy}.")


def check(target: str | Path) -> None:
    """Refuse an output that cannot be written, before the work for it begins.

    Raises
    ------
    DataError
        If it is a folder, or the folder to hold it does not exist.
    """
    try:
        if str(target) != STDOUT:
            _refuse_planted(target)
            _kind(target, Path(os.path.realpath(target)))
    except OSError as error:
        raise unwritable(target, error) from error


def _refuse_planted(target: str | Path) -> None:
    """Refuse an output that is a link in a campaign, because the campaign may come from somebody else."""
    path = Path(target)
    if path.is_symlink() and (path.parent / "campaign.json").is_file():
        raise DataError(
            f"{path} is a link in a campaign, so labkit would write outside of its folder. Name a file elsewhere, or "
            "remove the link."
        )


class _Stream(io.FileIO):
    """A device or a pipe. It has no positions, although /dev/null supports `tell` and `seek`."""

    def seekable(self) -> bool:
        """Never."""
        return False

    def tell(self) -> int:
        """Refused."""
        raise io.UnsupportedOperation("a stream has no position")

    def seek(self, *_: object) -> int:
        """Refused."""
        raise io.UnsupportedOperation("a stream has no position")


def _kind(target: str | Path, place: Path) -> str:
    """``regular``, ``stream`` or ``fifo``."""
    try:
        mode = Path(target).stat().st_mode
    except FileNotFoundError:
        if not place.parent.is_dir():
            raise
        return "regular"
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if stat.S_ISFIFO(mode):
        return "fifo"
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        kind = "a block device" if stat.S_ISBLK(mode) else "a socket"
        raise OSError(errno.EINVAL, f"it is {kind}")
    named = os.path.abspath(target)  # noqa: PTH100 (links must stay as they are)
    return "regular" if stat.S_ISREG(mode) and not named.startswith(_DIRECT) else "stream"


def _descriptor(path: Path, kind: str) -> int:
    """Open a descriptor for writing; wait up to `PATIENCE` for the reader of a FIFO."""
    if kind != "fifo":
        return os.open(path, os.O_WRONLY)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            os.set_blocking(handle, True)
            return handle


@contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name at the end of the context, and is removed if that fails."""
    clear(path.parent, path.name)
    with aside(path) as fresh:
        with fresh.open("xb") as file:
            yield file
        move(fresh, path, durable=True)
