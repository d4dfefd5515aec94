"""The characters of a file, in pieces: decoded, unpacked, and without the prefixes of its lines."""

from __future__ import annotations

import codecs
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

from labkit.errors import DataError
from labkit.formats import malformed
from labkit.formats.reading import wrapped
from labkit.formats.reading.log import LARGEST
from labkit.run.importing import embedded
from labkit.run.importing.kinds import known

PIECE = 1 << 20  # B read at once
BOM = "\ufeff"
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_GZIP = b"\x1f\x8b"  # first bytes of a compressed file


def opened(path: str | Path) -> int:
    """Open a regular file and return its descriptor. Refuse a FIFO or a device instead of waiting for it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DataError(f"{path} cannot be read: {reason}. Name a file with the output of a benchmark.") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kinds = {stat.S_IFIFO: "a FIFO", stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise DataError(
            f"{path} is {kind}, not a file. Save the output of the benchmark to a file, and name that file."
        )
    return handle


def encoding_of(path: str | Path) -> str:
    """Return the encoding that a byte order mark gives, as Windows writes it; else UTF-8."""
    with os.fdopen(opened(path), "rb") as file:
        begin = file.read(2)
    return _WIDE.get(begin, "utf-8")


def pieces(path: str | Path, encoding: str, inside: str = "") -> Iterator[tuple[int, str]]:
    """Yield the text in pieces, without the prefixes of its lines, each with the number of bytes read."""
    if inside.startswith(embedded.RANK):
        text = embedded.of_ranks("".join(piece for _, piece in decoded(path, encoding)))[inside]
        return wrapped.pieces([(len(text), text), (0, "")], known)
    unwrapped = wrapped.pieces(decoded(path, encoding), known)
    if inside:
        whole = "".join(piece for _, piece in unwrapped).removeprefix(BOM)
        text = embedded.of_tables(whole) if inside == embedded.TABLES else embedded.texts(whole)[inside]
        return wrapped.pieces([(len(text), text), (0, "")], known)
    return unwrapped


def decoded(path: str | Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the text in pieces, with the number of unpacked bytes; invalid bytes are replaced."""
    decoder, total = codecs.getincrementaldecoder(encoding)(errors="replace"), 0
    try:
        with os.fdopen(opened(path), "rb") as file:
            packed = file.peek(len(_GZIP)).startswith(_GZIP)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            while piece := stream.read(PIECE):
                total += len(piece)
                if packed and total > LARGEST:
                    most = f"{LARGEST >> 20} MiB"
                    raise malformed(
                        str(path), 0, f"more than {most} when unpacked", f"{most} at most", "Unpack it first."
                    )
                yield len(piece), decoder.decode(piece)
            yield 0, decoder.decode(b"", final=True)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}. Copy it to this machine again.") from None
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}. Copy it to this machine, and name the copy."
        ) from None
