"""Read files that others wrote, and explain errors of the system.

Only this module turns an error of the system or of a parser into a sentence with the path and a remedy.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labkit.errors import DataError

MOST_B = 64 << 20  # of a text file
MOST_NOTEBOOK_B = 256 << 20  # of a notebook with its figures
_LINE_B = 4096  # of a line, on average, at the end of a text
DEEPEST = 100  # levels of a file of settings
_STRING = re.compile(r'"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*')
_DOTTED = re.compile(r'(?<![\w"-])[\w"-]+(?:[ \t]*\.[ \t]*[\w"-]+)+')
_BRACKET = re.compile(r"[\[\]{}]")
REFUSED = (OSError, UnicodeError, RecursionError, MemoryError)
_REMEDIES = {
    errno.ENOENT: "Check the name, or create its folder first",
    errno.EISDIR: "Name a file, not a folder",
    errno.ENOTDIR: "Name a path whose parents are folders",
    errno.EEXIST: "Name another place, or remove it",
    errno.ENOTEMPTY: "Name another place, or empty it",
    errno.ENOSPC: "Free space on that disk, or name another place",
    errno.EDQUOT: "Free space in your quota, or name another place",
    errno.EFBIG: "Raise the limit (ulimit -f), or name another place",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.ELOOP: "Its links form a loop; name the file itself",
    errno.EACCES: "Ask its owner for access, or name another place",
    errno.EPERM: "Ask its owner for access, or name another place",
    errno.EROFS: "The disk is read-only; name another place",
    errno.EMFILE: "Raise the limit of open files (ulimit -n 4096)",
    errno.ENFILE: "Close other programs: this machine has reached its limit of open files",
    errno.EAGAIN: "End other programs, or raise the limit of processes (ulimit -u)",
    errno.ENOMEM: "End other programs, or use a machine with more memory",
    errno.EBADF: "The stream is closed; open it, or send the output to a file",
    errno.ENXIO: "It is a pipe or a device; restore the file",
    errno.EIO: "Check the disk, and restore the file from a copy",
}
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def explained(error: BaseException, path: str | Path = "") -> DataError:
    """Explain an error of the system, a decoder or a parser in a sentence.

    Parameters
    ----------
    path : file that the error is about, if the error does not name one.
    """
    if isinstance(error, OSError) and error.errno is None:
        error = _first(error)
    if isinstance(error, OSError):
        named = error.filename if error.filename is not None else path
        subject = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) and named else "The system refused"
        reason = _short(error.strerror or str(error) or type(error).__name__).rstrip(".")
        return DataError(f"{_short(subject)}: {reason}. {remedy(error)}.")
    subject = _short(str(path)) or "The input"
    if isinstance(error, UnicodeEncodeError):
        return DataError(f"{subject} is not a name in UTF-8. Choose another name.")
    if isinstance(error, UnicodeError):
        place = f" (byte {error.start + 1})" if isinstance(error, UnicodeDecodeError) else ""
        return DataError(f"{subject} is not UTF-8 text{place}. Save it as UTF-8.")
    if isinstance(error, RecursionError):
        return DataError(f"{subject} is nested too deeply. Restore it, or flatten it.")
    if isinstance(error, MemoryError):
        return DataError(f"{subject} needs more memory than this machine has. Request less, or use a larger machine.")
    return DataError(f"{subject} cannot be read: {_short(plainly(error), 200)}. Correct or restore it.")


def plainly(error: BaseException) -> str:
    """Return a parser's error without wording meant for programmers."""
    words = str(error)
    return "a number has thousands of digits" if "int_max_str_digits" in words else words


def remedy(error: OSError) -> str:
    """Say what to do about an error of the system."""
    return _REMEDIES.get(error.errno or 0, "Check it, or name another place")


def _first(error: OSError) -> OSError:
    """Return the first error of a folder copy; `shutil.copytree` collects its errors as texts."""
    try:
        _, target, why = error.args[0][0]
        number = re.match(r"\[Errno (\d+)\]", str(why))
    except (TypeError, ValueError, IndexError):  # the error is only a text
        return error
    return OSError(int(number[1]), os.strerror(int(number[1])), str(target)) if number else OSError(str(why))


@contextmanager
def named(path: str | Path) -> Iterator[None]:
    """Add a path to system errors without one, such as those of writes to an open file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None and not isinstance(error, BrokenPipeError):
            error.filename = str(path)
        raise


@contextmanager
def about(path: str | Path) -> Iterator[None]:
    """Turn errors of the system in this block into sentences about a path.

    Raises
    ------
    DataError
        If there is one.
    """
    try:
        yield
    except REFUSED as error:
        raise explained(error, path) from error


def regular(path: Path) -> Path:
    """Return the path if it names a regular file. A pipe or a device may never end.

    Raises
    ------
    DataError
        If it names anything else, or nothing.
    """
    with about(path):
        mode = stat.S_IFMT(path.stat().st_mode)
    if mode != stat.S_IFREG:
        raise DataError(f"{path} is {_KINDS.get(mode, 'no file')}, but it must be a file. Name or restore the file.")
    return path


def resolved(path: str | Path) -> Path:
    """Return the absolute path without links. A loop of links stays, and opening it raises the error."""
    return Path(os.path.realpath(path))


def names(folder: Path, *, folders: bool = False) -> list[str]:
    """List the names of the files in a folder, or of its folders; pipes, devices and loops of links are neither.

    Raises
    ------
    OSError
        If the folder cannot be read.
    """

    def fits(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir() if folders else entry.is_file()
        except OSError:
            return False

    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if fits(entry))


def text(path: Path, errors: str = "strict", most: int = MOST_B) -> str:
    """Read a UTF-8 text, without the byte order mark that some editors put at the beginning.

    Parameters
    ----------
    errors : how to treat bytes that are not UTF-8, as in `open`.
    most : largest size, B.

    Raises
    ------
    DataError
        If it cannot be read, or is longer.
    """
    with about(path):
        return content(path, most).decode("utf-8-sig", errors).replace("\r\n", "\n").replace("\r", "\n")


def content(path: Path, most: int = MOST_B) -> bytes:
    """Read a file of bounded size.

    Parameters
    ----------
    most : B that it may have.

    Raises
    ------
    DataError
        If it cannot be read, is not a regular file, or is larger than `most`.
    """
    with about(path), regular(path).open("rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        size = path.stat().st_size
        raise DataError(f"{path} has {size:,} B, but at most {most:,} B are read. Name another file, or shorten it.")
    return found


def tail(path: Path, lines: int) -> str:
    """Return the last lines of a text, however long it is; bytes that are not UTF-8 are replaced.

    Raises
    ------
    DataError
        If it cannot be read, or is not a regular file.
    """
    with about(path), regular(path).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - lines * _LINE_B))
        return "\n".join(file.read(lines * _LINE_B).decode(errors="replace").strip().splitlines()[-lines:])


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    with about(path), regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    DataError
        If it cannot be read, or is no TOML.
    """
    table: dict[str, Any] = _parsed(path, toml_of)
    return table


def toml_of(content: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse a TOML text of bounded depth.

    The parser's time grows with the square of a key's parts, and with nesting.

    Parameters
    ----------
    content : the text.
    parse_float : from a number with a point, as it is written.

    Raises
    ------
    ValueError
        If it is not TOML, or nested more deeply than `DEEPEST` levels.
    """
    import tomllib  # inside the function: 2 ms, and most commands read no TOML

    bare = _STRING.sub('""', content)
    parts = max((key[0].count(".") for key in _DOTTED.finditer(bare)), default=0)
    depth = deepest = 0
    for bracket in _BRACKET.findall(bare):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if max(parts, deepest) > DEEPEST:
        raise ValueError(f"it is nested {max(parts, deepest):,} levels deep, but at most {DEEPEST} are read")
    return tomllib.loads(content, parse_float=parse_float)


def json_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object.

    Raises
    ------
    DataError
        If it cannot be read, or holds something else.
    """
    value = _parsed(path, lambda content: json.loads(content, object_pairs_hook=once))
    if not isinstance(value, dict):
        raise DataError(f"{path} holds {type(value).__name__}, but it must be a JSON object. Restore it.")
    return value


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object from its pairs; a hook for `json.loads`.

    Raises
    ------
    ValueError
        If a key occurs twice with different values, because one of them would be lost.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise ValueError(f"the key {name[:80]!r} occurs twice in one object, with different values")
        found[name] = value
    return found


def _parsed(path: Path, parse: Callable[[str], Any]) -> Any:
    """Parse a text file."""
    content = text(path)
    with about(path):
        try:
            return parse(content)
        except ValueError as error:  # a whole number with thousands of digits raises it too
            raise explained(error, path) from error


def _short(words: str, most: int = 300) -> str:
    """Words for one line of a message."""
    line = " ".join(words.split())
    return line if len(line) <= most else f"{line[:most]}…"
