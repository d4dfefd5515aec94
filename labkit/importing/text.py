"""The text of a file: its format, its checksum, and its tables, read a piece at a time."""

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
PART = 1 << 12  # rows of a long table in memory
_BEGINS = {
    kind: re.compile(rf"^(?: *\d{{1,7}}: |\[[\d,]+\](?:<std\w+>:?)? ?)?{form.BEGINS}", re.MULTILINE)
    for kind, form in FORMATS.items()
}
_MARKS = {
    kind: form.MARKS for kind, form in FORMATS.items()
}  # a search for them comes first, because it is much faster
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BOM = "\ufeff"


@dataclass(frozen=True)
class Text:
    """A file whose format and checksum are known.

    Parameters
    ----------
    path : of the file.
    kind : key of `FORMATS`.
    digest : SHA-256 of the text, which names it.
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
        """The module that reads its tables."""
        return FORMATS[self.kind]

    def lines(self, read: Callable[[int], None]) -> Lines:
        """Return its lines.

        Parameters
        ----------
        read : called with the number of bytes of each piece.
        """

        def pieces() -> Iterator[str]:
            first = True
            for count, piece in _pieces(self.path, self.encoding):
                read(count)
                yield piece.removeprefix(_BOM) if first else piece
                first = first and not piece

        lines: Lines = self.form.lines_of(pieces(), str(self.path))
        return lines

    def tables(self, lines: Lines) -> Iterator[Table]:
        """Yield its tables; long ones come in parts."""
        tables: Iterator[Table] = self.form.tables(lines, PART)
        return tables


def identify(path: str | Path) -> Text:
    """Find format and checksum of a file.

    Raises
    ------
    DataError
        If it cannot be read, is not a regular file, or is in no format that labkit knows.
    """
    digest, kinds, first_line, rest, size = hashlib.sha256(), set[str](), "", "", 0
    encoding = _encoding(path)
    for count, piece in _pieces(path, encoding):
        size += count
        digest.update(piece.encode(errors="surrogatepass"))
        if not first_line:
            lines = piece[:LONGEST].removeprefix(_BOM).splitlines()
            first_line = next((line for line in lines if line.strip()), "")
        text = (rest + piece).removeprefix(_BOM)
        kinds |= {
            kind
            for kind, form in _BEGINS.items()
            if kind not in kinds and any(mark in text for mark in _MARKS[kind]) and form.search(text)
        }
        rest = text[-256:].rpartition("\n")[2]
    if len(kinds) != 1:
        wanted = "the output of the OSU micro-benchmarks (OMB) or of the Intel MPI benchmarks (IMB)"
        remedy = "Name a file with the complete output of one program, including lines that begin with '#'."
        if kinds:
            wanted, remedy = f"{wanted}, not of both in one file", "Split it into one file per program."
        raise malformed(str(path), 1, first_line or "nothing", wanted, remedy)
    return Text(Path(path), kinds.pop(), digest.hexdigest(), size, encoding)


def _open(path: str | Path) -> int:
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


def _encoding(path: str | Path) -> str:
    """Return the encoding that a byte order mark gives, as Windows writes it; else UTF-8."""
    with os.fdopen(_open(path), "rb") as file:
        begin = file.read(2)
    return _WIDE.get(begin, "utf-8")


def _pieces(path: str | Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the text in pieces, with the number of bytes read; invalid bytes are replaced."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    try:
        with os.fdopen(_open(path), "rb") as file:
            while piece := file.read(PIECE):
                yield len(piece), decoder.decode(piece)
            yield 0, decoder.decode(b"", final=True)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}. Copy it to this machine, and name the copy."
        ) from None
