"""Write and delete below a folder without following links inside it.

A campaign may come from anyone, and others may change its folder while labkit writes to it. A link in it must never
make labkit write or delete elsewhere, even if it appears during the run. labkit therefore opens every folder on the way
relative to its parent without following links, and then works on the open folder, whatever its name refers to by then.
The top folder is chosen by the user and may be reached through a link.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from labkit.errors import DataError
from labkit.io import atomic, safe_read
from labkit.io.atomic import Content

_OPEN = "/proc/self/fd/"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LINE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
_MOMENT = 1.0  # s


@contextmanager
def folder(top: Path, name: str = "", *, make: bool = False) -> Iterator[Path]:
    """Open a folder below another one.

    Parameters
    ----------
    top : exists, unless `make`.
    name : name of the folder, parts joined by ``/``; empty for `top`.
    make : whether to create folders that do not exist.

    Yields
    ------
    A path in ``/proc`` that leads to the open folder. It is valid in this process, inside the ``with`` block. Errors
    that leave the block name the folder as the caller did.

    Raises
    ------
    DataError
        If a part of the name is a link.
    OSError
        If the folder does not exist or cannot be opened.
    """
    if make:
        top.mkdir(parents=True, exist_ok=True)
    handle = os.open(top, _FOLDER)
    shown = top.readlink() if str(top).startswith(_OPEN) else top
    try:
        for part in PurePath(name).parts:
            shown = shown / part
            above, handle = handle, _opened(handle, part, shown, make)
            os.close(above)
        place = Path(f"{_OPEN}{handle}")
        try:
            yield place
        except OSError as error:
            error.filename = str(shown if error.filename is None else _named(error.filename, place, shown))
            raise
        except DataError as error:
            error.args = (str(error).replace(str(place), str(shown)),)
            raise
    finally:
        os.close(handle)


def _opened(above: int, part: str, shown: Path, make: bool) -> int:
    """Open one folder relative to the one above it."""
    if part in ("..", "/"):
        raise DataError(f"{shown} leads out of its folder. Name a path inside it.")
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=above)
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(part, above):
            raise _refused(shown) from error
        error.filename = str(shown)
        raise


def _is_link(name: str | Path, above: int | None = None) -> bool:
    """Return whether a name is a link."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _named(name: object, place: Path, shown: Path) -> object:
    """Return the name in an error with the folder as the caller knows it."""
    return os.fsdecode(name).replace(str(place), str(shown)) if isinstance(name, str | bytes | os.PathLike) else name


def _refused(path: Path, kind: str = "a link") -> DataError:
    return DataError(
        f"{path} is {kind}, so labkit would write outside of its folder. Replace it by a copy of what it leads to, or "
        "remove it."
    )


def refuse_links(place: Path, name: str = "") -> None:
    """Refuse a folder if any entry, or the named one, is a link.

    Raises
    ------
    DataError
        If there is one. The message names it.
    """
    if name:
        found = [name] if _is_link(place / name) else []
    else:
        with os.scandir(place) as entries:
            found = [entry.name for entry in entries if entry.is_symlink()]
    if found:
        raise _refused(place / min(found))


def put(top: Path, name: str, content: Content, *, durable: bool = False) -> None:
    """Write a file below a folder, whole, as `labkit.io.atomic.replace` does; create the folders on the way.

    Raises
    ------
    DataError
        If the file or a folder on the way is a link.
    OSError
        If it cannot be written.
    """
    path = PurePath(name)
    with folder(top, str(path.parent), make=True) as place:
        refuse_links(place, path.name)
        atomic.replace(place / path.name, content, durable=durable)


def append(top: Path, name: str, lines: bytes) -> None:
    """Add lines to a file below a folder, usually in one write; refuse a pipe instead of waiting for it.

    Raises
    ------
    DataError
        If the file or a folder on the way is a link, or the file has a second name (a hard link).
    OSError
        If it cannot be written.
    """
    path = PurePath(name)
    with folder(top, str(path.parent), make=True) as place:
        try:
            handle = os.open(place / path.name, _LINE, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _refused(place / path.name) from error
            raise
        with open(handle, "ab", buffering=0) as file:  # noqa: PTH123
            if not _alone(handle, place):
                raise _refused(place / path.name, "a hard link")
            view = memoryview(lines)
            while view:
                view = view[file.write(view) :]


def _alone(handle: int, place: Path) -> bool:
    """Return whether a file has only one name. While `labkit.io.atomic.create` makes it, it briefly has two."""
    end = time.monotonic() + _MOMENT
    while os.fstat(handle).st_nlink > 1:
        atomic.clear(place)
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def drop(top: Path, name: str) -> None:
    """Remove a file below a folder if it exists; if it is a link, only the link.

    Raises
    ------
    DataError
        If a folder on the way is a link.
    OSError
        If it cannot be removed.
    """
    path = PurePath(name)
    with suppress(FileNotFoundError), folder(top, str(path.parent)) as place:
        (place / path.name).unlink(missing_ok=True)


def copied(source: Path) -> Content:
    """Return content for `put` that is a copy of a regular file, with its times."""
    import shutil  # a rank imports this module and should open few files

    return lambda fresh: shutil.copy2(safe_read.regular(source), fresh)
