"""Zip archives that may come from anybody: listed, bounded, and unpacked inside one folder.

labkit checks the central directory before it unpacks a byte. It limits sizes again while it unpacks, because the
directory may be wrong.
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

from labkit.errors import DataError, SpecError
from labkit.point import units
from labkit.point.units import plural
from labkit.store import names

SIZE, ENTRIES, RATIO = "LABKIT_ARCHIVE_SIZE", "LABKIT_ARCHIVE_ENTRIES", "LABKIT_ARCHIVE_RATIO"
PIECE = 1 << 20  # B read at once
SMALL = 1 << 20  # B; smaller entries may have any ratio
DIRECTORY = 1024  # B of the central directory allowed for each entry
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
    size : size of everything unpacked, B.
    entries : files and folders.
    ratio : ratio of an entry's size to its packed size, for entries above `SMALL`.
    """

    size: int = 16 << 30
    entries: int = 200_000
    ratio: int = 300

    @classmethod
    def usual(cls, size: str = "") -> Limits:
        """Return the limits that the user set.

        Parameters
        ----------
        size : largest size, as the command line gives it; else ``LABKIT_ARCHIVE_SIZE``.

        Raises
        ------
        SpecError
            If a value is not a size or number.
        """
        sources = {"size": "--max-size" if size else SIZE, "entries": ENTRIES, "ratio": RATIO}
        limits = {}
        for name, source in sources.items():
            if value := size if source == "--max-size" else os.environ.get(source):
                try:
                    limits[name] = units.parse_size(value)
                except SpecError as error:
                    raise SpecError(f"{source}: {error}") from error
        return cls(**limits)


def listed(file: IO[bytes], where: Path, limits: Limits) -> zipfile.ZipFile:
    """Open an archive after a check of its sizes.

    Raises
    ------
    DataError
        If it is too large. A file that is not an archive raises one of `BROKEN`.
    """
    if (length := _directory(file)) > limits.entries * DIRECTORY:
        raise _too_large(where, f"a central directory of {length:,} B", ENTRIES, limits.entries)
    archive = zipfile.ZipFile(file)
    infos = archive.infolist()
    total = sum(info.file_size for info in infos)
    if len(infos) > limits.entries:
        raise _too_large(where, plural(len(infos), "entry"), ENTRIES, limits.entries)
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
    """Return the length of the central directory, as stated at the end of an archive, B; 0 if there is none."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - (1 << 16) - 22 - 20 - 56))
    tail = file.read()
    file.seek(0)
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) < place + 22:
        return 0
    (length,) = struct.unpack("<L", tail[place + 12 : place + 16])
    end64 = tail.rfind(b"PK\x06\x06", 0, place)
    if end64 >= 0 and len(tail) >= end64 + 48:
        length = max(length if length < 0xFFFFFFFF else 0, struct.unpack("<Q", tail[end64 + 40 : end64 + 48])[0])
    return min(int(length), end)


def problems(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the problems of the entries of an archive, each with the entry's name."""
    problems, seen, folders = list[str](), dict[str, str](), set[str]()
    for info in infos:
        name = info.orig_filename.removesuffix("/")
        if problem := _why(info) or names.problem(name):
            problems.append(f"{names.shown(info.orig_filename)}: {problem}")
            continue
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in seen and not (info.filename.endswith("/") and folded in folders):
            problem = "is there twice" if seen[folded] == name else f"differs from {seen[folded]} by case alone"
            problems.append(f"{name}: {problem}")
        seen.setdefault(folded, name)
        above = folded.split("/")
        folders.update("/".join(above[:i]) for i in range(1, len(above)))
        if info.filename.endswith("/"):
            folders.add(folded)
    file_and_folder = {name for folded, name in seen.items() if folded in folders}
    files = {info.orig_filename for info in infos if not info.filename.endswith("/")}
    return problems + [f"{name}: is a file and a folder" for name in sorted(file_and_folder & files)]


def _why(info: zipfile.ZipInfo) -> str:
    """Return why `labkit export` cannot have written an entry; empty if it can."""
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
    """Unpack every file below a folder.

    Yields
    ------
    Name, and either its SHA-256 in 64 hex digits or what is wrong with it.

    Raises
    ------
    DataError
        If more comes out than the limits allow.
    """
    remaining = limits.size
    for info in archive.infolist():
        if info.filename.endswith("/"):
            continue
        target = names.inside(into, info.filename)
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        try:
            with target.open("xb") as out:
                for piece in _pieces(archive, info):
                    if (remaining := remaining - len(piece)) < 0:
                        raise _too_large(Path(str(archive.filename)), "larger than its stated size", SIZE, limits.size)
                    digest.update(piece)
                    out.write(piece)
        except _BrokenError as error:
            yield info.filename, f"damaged ({error})"
        except OSError as error:
            raise DataError(
                f"{archive.filename} cannot be unpacked: {error.strerror}. Free space in {into.parent.parent}, or set "
                "TMPDIR."
            ) from error
        else:
            yield info.filename, digest.hexdigest()


class _BrokenError(Exception):
    """An entry that cannot be read."""


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the unpacked content of an entry in pieces."""
    try:
        with archive.open(info) as file:
            while piece := file.read(PIECE):
                yield piece
    except BROKEN as error:
        raise _BrokenError(str(error)) from error
