"""Zip archives that may come from anybody: listed, bounded, and unpacked inside one folder.

The central directory is judged before a byte is unpacked, and sizes are bounded again while unpacking, since the
directory may lie.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from labkit import units
from labkit.campaign import names
from labkit.errors import DataError, SpecError

SIZE, ENTRIES, RATIO = "LABKIT_ARCHIVE_SIZE", "LABKIT_ARCHIVE_ENTRIES", "LABKIT_ARCHIVE_RATIO"
PIECE = 1 << 20  # B read at once
SMALL = 1 << 20  # B; what is smaller may be packed as tightly as it is
DIRECTORY = 1024  # B of the central directory for each entry that is allowed
# what zipfile raises for an archive that is damaged or made to harm
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    struct.error,
    OverflowError,
)


@dataclass(frozen=True)
class Limits:
    """How much an archive may hold.

    Parameters
    ----------
    size : of everything unpacked, B.
    entries : files and folders.
    ratio : of an entry's size to its packed size, for entries above `SMALL`.
    """

    size: int = 16 << 30
    entries: int = 200_000
    ratio: int = 300

    @classmethod
    def usual(cls, size: str = "") -> Limits:
        """The limits that the user set.

        Parameters
        ----------
        size : of the command line; else ``LABKIT_ARCHIVE_SIZE``.

        Raises
        ------
        SpecError
            If a value is no size or number.
        """
        words = {"size": "--max-size" if size else SIZE, "entries": ENTRIES, "ratio": RATIO}
        found = {}
        for name, word in words.items():
            if value := size if word == "--max-size" else os.environ.get(word):
                try:
                    found[name] = units.parse_size(value)
                except SpecError as error:
                    raise SpecError(f"{word}: {error}") from error
        return cls(**found)


def listed(file: IO[bytes], where: Path, limits: Limits) -> zipfile.ZipFile:
    """Open an archive after a look at the size of its central directory.

    Raises
    ------
    DataError
        If it is too large. What is no archive raises one of `BROKEN`.
    """
    if (length := _directory(file)) > limits.entries * DIRECTORY:
        raise _too_large(where, f"a central directory of {length:,} B", ENTRIES, limits.entries)
    archive = zipfile.ZipFile(file)
    infos = archive.infolist()
    total = sum(info.file_size for info in infos)
    if len(infos) > limits.entries:
        raise _too_large(where, f"{len(infos):,} entries", ENTRIES, limits.entries)
    if total > limits.size:
        raise _too_large(where, f"{total:,} B unpacked", SIZE, limits.size)
    for info in infos:
        if info.file_size > max(SMALL, info.compress_size * limits.ratio):
            what = f"{names.shown(info.filename)} packed {info.file_size:,} B to {info.compress_size:,} B"
            raise _too_large(where, what, RATIO, limits.ratio)
    return archive


def _too_large(where: Path, what: str, variable: str, limit: int) -> DataError:
    flag = ", or with --max-size" if variable == SIZE else ""
    return DataError(
        f"{where} has {what}, but the limit is {limit:,}. Nothing was kept. If you trust it, raise the limit with "
        f"the variable {variable}{flag}."
    )


def _directory(file: IO[bytes]) -> int:
    """Length of the central directory as the end of an archive tells it, B; 0 where there is none."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - (1 << 16) - 22 - 20 - 56))
    tail = file.read()
    file.seek(0)
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) < place + 22:
        return 0
    (length,) = struct.unpack("<L", tail[place + 12 : place + 16])
    big = tail.rfind(b"PK\x06\x06", 0, place)
    if big >= 0 and len(tail) >= big + 48:
        length = max(length if length < 0xFFFFFFFF else 0, struct.unpack("<Q", tail[big + 40 : big + 48])[0])
    return min(int(length), end)


def problems(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """What is wrong with the entries of an archive, each with its name."""
    found, seen, folders = list[str](), dict[str, str](), set[str]()
    for info in infos:
        name = info.orig_filename.removesuffix("/")
        if why := _why(info) or names.problem(name):
            found.append(f"{names.shown(info.orig_filename)}: {why}")
            continue
        alike = unicodedata.normalize("NFC", name).casefold()
        if alike in seen and not (info.filename.endswith("/") and alike in folders):
            what = "is there twice" if seen[alike] == name else f"differs from {seen[alike]} by case alone"
            found.append(f"{name}: {what}")
        seen.setdefault(alike, name)
        above = alike.split("/")
        folders.update("/".join(above[:i]) for i in range(1, len(above)))
        folders.update([alike] if info.filename.endswith("/") else [])
    both = {name for alike, name in seen.items() if alike in folders}
    plain = {info.orig_filename for info in infos if not info.filename.endswith("/")}
    return found + [f"{name}: is a file and a folder" for name in sorted(both & plain)]


def _why(info: zipfile.ZipInfo) -> str:
    """Why an entry is none that `labkit export` writes; empty where it may be."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a device or a pipe"
    if "\0" in info.orig_filename:
        return "the name holds a zero byte"
    if info.flag_bits & 1:
        return "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "compressed in a way that labkit does not use"
    return ""


def unpack(archive: zipfile.ZipFile, into: Path, limits: Limits) -> Iterator[tuple[str, str]]:
    """Unpack every file below a folder; name and SHA-256 of each, or an error in its place.

    Yields
    ------
    Name, and either 64 hex digits or what is wrong with it.

    Raises
    ------
    DataError
        If more comes out than the limits allow.
    """
    left = limits.size
    for info in archive.infolist():
        if info.filename.endswith("/"):
            continue
        target = names.inside(into, info.filename)
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        try:
            with target.open("xb") as out:
                for piece in _pieces(archive, info):
                    if (left := left - len(piece)) < 0:
                        raise _too_large(Path(str(archive.filename)), "larger than its stated size", SIZE, limits.size)
                    digest.update(piece)
                    out.write(piece)
        except _BrokenError as error:
            yield info.filename, f"damaged ({error})"
        except OSError as error:
            raise DataError(
                f"{archive.filename} cannot be unpacked: {error.strerror}. Free space in {into.parent}, or set TMPDIR."
            ) from error
        else:
            yield info.filename, digest.hexdigest()


class _BrokenError(Exception):
    """An entry that cannot be read."""


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Content of an entry, unpacked."""
    try:
        with archive.open(info) as file:
            while piece := file.read(PIECE):
                yield piece
    except BROKEN as error:
        raise _BrokenError(str(error)) from error
