"""The text of a file: which format it is of, what names it, and its tables, a piece at a time."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from labkit.errors import DataError
from labkit.formats import imb, malformed, omb
from labkit.formats._lines import LONGEST, Lines
from labkit.formats._table import Table

FORMATS: dict[str, ModuleType] = {"OMB": omb, "IMB": imb}
PIECE = 1 << 20  # B read at once
PART = 1 << 12  # rows of a long table in hand
_BEGINS = {
    kind: re.compile(rf"^(?: *\d{{1,7}}: |\[[\d,]+\](?:<std\w+>:?)? ?)?{form.BEGINS}", re.MULTILINE)
    for kind, form in FORMATS.items()
}
_MARKS = {kind: form.MARKS for kind, form in FORMATS.items()}  # looked for first, which is much quicker
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BOM = "\ufeff"


@dataclass(frozen=True)
class Text:
    """A file that was looked through once.

    Parameters
    ----------
    path : where it is.
    kind : key of `FORMATS`.
    digest : names the text.
    size : B.
    encoding : of its characters.
    """

    path: Path
    kind: str
    digest: str
    size: int
    encoding: str

    @property
    def form(self) -> ModuleType:
        """What reads its tables."""
        return FORMATS[self.kind]

    def lines(self, read: Callable[[int], None]) -> Lines:
        """Its lines.

        Parameters
        ----------
        read : told how many bytes were read, piece by piece.
        """

        def pieces() -> Iterator[str]:
            first = True
            for count, piece in _pieces(self.path, self.encoding):
                read(count)
                yield piece.removeprefix(_BOM) if first else piece
                first = first and not piece

        found: Lines = self.form.lines_of(pieces(), str(self.path))
        return found

    def tables(self, lines: Lines) -> Iterator[Table]:
        """Its tables; long ones come in parts."""
        found: Iterator[Table] = self.form.tables(lines, PART)
        return found


def look(path: str | Path) -> Text:
    """Tell format and digest of a file.

    Raises
    ------
    DataError
        If it cannot be read, is no regular file, or is in no format that labkit knows.
    """
    digest, found, first, end, size = hashlib.sha256(), set[str](), "", "", 0
    encoding = _encoding(path)
    for count, piece in _pieces(path, encoding):
        size += count
        digest.update(piece.encode(errors="surrogatepass"))
        first = first or next((line for line in piece[:LONGEST].removeprefix(_BOM).splitlines() if line.strip()), "")
        text = (end + piece).removeprefix(_BOM)
        found |= {
            kind
            for kind, form in _BEGINS.items()
            if kind not in found and any(mark in text for mark in _MARKS[kind]) and form.search(text)
        }
        end = text[-min(len(text), 256) :].rpartition("\n")[2] if "\n" in text[-256:] else text[-256:]
    if len(found) != 1:
        wanted = "the output of the OSU micro-benchmarks (OMB) or of the Intel MPI benchmarks (IMB)"
        remedy = "Name a file with the complete output of one program, including lines that begin with '#'."
        if found:
            wanted, remedy = f"{wanted}, not of both in one file", "Split it into one file per program."
        raise malformed(str(path), 1, first or "nothing", wanted, remedy)
    return Text(Path(path), found.pop(), digest.hexdigest(), size, encoding)


def _opened(path: str | Path) -> int:
    """A descriptor of a regular file; a FIFO or a device is refused, not waited for."""
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


def _encoding(path: str | Path) -> str:
    """UTF-8, or what a byte order mark says, as Windows writes it."""
    with os.fdopen(_opened(path), "rb") as file:
        begin = file.read(2)
    return _WIDE.get(begin, "utf-8")


def _pieces(path: str | Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Bytes read, and the characters they are; what is none is replaced."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    try:
        with os.fdopen(_opened(path), "rb") as file:
            while piece := file.read(PIECE):
                yield len(piece), decoder.decode(piece)
            yield 0, decoder.decode(b"", final=True)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}. Copy it to this machine, and name the copy."
        ) from None
