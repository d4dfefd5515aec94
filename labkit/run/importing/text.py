"""The text of a file: its format, its checksum, and its tables, read a piece at a time."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

from labkit.errors import DataError
from labkit.formats import imb, logs, malformed, omb
from labkit.formats.reading import wrapped
from labkit.formats.reading.lines import LONGEST, Lines
from labkit.formats.reading.log import LARGEST, SHORTENED, Log, Run
from labkit.formats.reading.table import Table
from labkit.formats.reading.values import CutError
from labkit.point.notes import Note, note
from labkit.run.importing import embedded
from labkit.run.importing.sections import only, sections

FORMATS: dict[str, ModuleType] = {"OMB": omb, "IMB": imb}  # of any length, read in pieces; all others are logs
PIECE = 1 << 20  # B read at once
PART = 1 << 12  # rows of a long table in memory
_TELLING = 20  # characters of a first line that say what a file is; a shorter one is shown with what follows
_LABEL = r"^(?: *\d{1,7}: |\[[\d,]+\](?:<std\w+>:?)? ?)?"
_BEGINS = {
    kind: re.compile(f"{_LABEL}(?:{begins})", re.MULTILINE)
    for kind, begins in [
        *((kind, rf"[ \t]*(?:{form.BEGINS})") for kind, form in FORMATS.items()),  # tables may be indented
        *((kind, log.begins.pattern) for kind, log in logs().items()),
    ]
}
# a search for these comes first, because it is much faster
_MARKS = {kind: form.MARKS for kind, form in FORMATS.items()} | {kind: log.marks for kind, log in logs().items()}
# what a line with the name of a program, or with a title that it prints, contains; else it is the name of the format
_NAMED = {
    "OMB": r"osu_[a-z]\w+|\bOSU (?:MPI|OpenSHMEM|UPC|NCCL)",
    "IMB": r"\bIMB-[A-Z]\w+|\bIntel\(R\) MPI Benchmarks",
    "HPL": r"\bx?hpl\b|\bHPL\b",
    "nccl-tests": r"\b(?:nccl|rccl)-tests\b|\b(?:all_reduce|all_gather|reduce_scatter|alltoall|sendrecv)_perf\b",
    "perftest": r"\b(?:ib_(?:write|read|send|atomic)|raw_ethernet)_(?:bw|lat)\b",
    "fio": r"\bfio\b|: \(g=\d+\): rw=",
    "YCSB": r"\b(?:ycsb|YCSB)\b|^Run finished, takes ",
    "LinkTest": r"\b[Ll]ink[Tt]est\b",
    "iperf": r"\biperf2?\b(?! 3)",
    "iperf3": r"\biperf ?3\b",
}
_SEVERAL = 2  # ranks
_LINES = 10_000  # that are searched for such a name
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BOM = "\ufeff"
_ZIP = "PK\x03\x04"  # first characters of a ZIP archive, as an Excel workbook is
_GZIP = b"\x1f\x8b"  # first bytes of a compressed file
_IN_LINE = re.compile(r"[\w.,%+-]")  # a file that ends with one of these may be cut; JSON ends with a bracket
_OPEN = note(
    "open-end", "the file does not end with a line end, so its last line may be cut. Compare it with the tool's output"
)


@dataclass(frozen=True)
class Text:
    """A file whose format and checksum are known.

    Parameters
    ----------
    path : of the file.
    kind : key of `FORMATS`, or of `labkit.formats.logs`.
    digest : SHA-256 of the text, which names it.
    size : B.
    encoding : of its characters.
    name : of the file; with its folders, if a folder was named.
    open : whether it ends inside a line, so that its last number may lack digits.
    own : first and last lines, from 0, of its program, in a file that several programs have written; else empty.
    inside : place of the text in the document that the file holds, such as JSON; empty where it is the file.
    """

    path: Path
    kind: str
    digest: str
    size: int
    encoding: str
    name: str
    open: bool = False
    own: tuple[tuple[int, int], ...] = ()
    inside: str = ""

    @property
    def where(self) -> str:
        """How errors call it."""
        return f"{self.path} ({self.inside})" if self.inside else str(self.path)

    @property
    def doubts(self) -> tuple[Note, ...]:
        """What is doubtful about all points of the text."""
        return (_OPEN,) if self.open else ()

    @property
    def log(self) -> Log | None:
        """The kind of log that it is; None for a text of tables."""
        return logs().get(self.kind)

    def runs(self, read: Callable[[int], None]) -> list[Run]:
        """Return the runs of a log.

        Raises
        ------
        DataError
            If it is larger than a log can be, or a line does not fit.
        """
        log = self.log
        assert log is not None
        if self.size > LARGEST:
            raise malformed(self.where, 0, f"{self.size:,} B", f"a log of {log.name}, {LARGEST >> 20} MiB at most")
        text = "".join(piece for _, piece in self._pieces()).removeprefix(_BOM)
        shortened = (SHORTENED,) if wrapped.shortened(text) else ()
        text, number = wrapped.bare(text)
        try:
            made = _runs(log, text, self.where)
        except DataError as error:
            told = re.sub(r"(?<=, line )\d+(?=: found)", lambda line: str(number(int(line[0]))), str(error))
            raise DataError(told) from error
        read(self.size)
        return [replace(run, line=number(run.line), doubts=(*run.doubts, *shortened)) for run in made]

    def _pieces(self) -> Iterator[tuple[int, str]]:
        """Yield the text in pieces, each with the number of bytes read."""
        pieces = _pieces(self.path, self.encoding, self.inside)
        if not self.own:
            return pieces
        return iter([(self.size, only("".join(piece for _, piece in pieces), self.own))])

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
            for count, piece in self._pieces():
                read(count)
                yield piece.removeprefix(_BOM) if first else piece
                first = first and not piece

        lines: Lines = self.form.lines_of(pieces(), self.where)
        return lines

    def tables(self, lines: Lines) -> Iterator[Table]:
        """Yield its tables; long ones come in parts. Those above a place where the text was cut count."""
        some = False
        try:
            for table in self.form.tables(lines, PART):
                yield table
                some = True
        except CutError as error:
            if not some:
                raise
            lines.cuts.append(error)


def _runs(log: Log, text: str, where: str) -> list[Run]:
    """Return the runs of a text, or of each JSON document in it. Refuse a mixture of different runs."""
    found, outside = wrapped.documents(text, _BEGINS[log.name])
    if not found:
        return log.runs(text, where)
    # newlines replace the text above, so that line numbers stay right
    parts = [text] if log.joins else ["\n" * text.count("\n", 0, first) + text[first:last] for first, last in found]
    made = [run for part in parts for run in log.runs(part, where)]
    if _BEGINS[log.name].search(outside) and not _same(log.runs(outside, where), made):
        remedy = "Split it into one file with the text and one with the JSON."
        raise malformed(where, 0, f"text and JSON of {log.name}", "the runs of one of them", remedy)
    return made


def _same(runs: Sequence[Run], others: Sequence[Run]) -> bool:
    """Return whether runs are the same, printed as text and as JSON: their first value agrees to 1 %."""
    return len(runs) == len(others) and all(
        (one.test, one.size) == (other.test, other.size)
        and math.isclose(one.values[0].value, other.values[0].value, rel_tol=0.01)
        for one, other in zip(runs, others, strict=True)
    )


class UnknownError(DataError):
    """A file in no format that labkit knows.

    Parameters
    ----------
    message : as of any error.
    reason : in few words, without the file's name.
    """

    def __init__(self, message: DataError, reason: str) -> None:
        super().__init__(str(message))
        self.reason = reason


def parts(path: str | Path, name: str = "", inside: str = "") -> list[Text]:
    """Find the formats of a file by its content: one for each program whose output it holds.

    If the file is a document whose strings hold outputs, each of them is a text.

    Parameters
    ----------
    path : of the file.
    name : what its points call it; by default its last part.
    inside : place of a text in the document that the file holds; empty for the file itself.

    Raises
    ------
    DataError
        If it cannot be read, or is not a regular file.
    UnknownError
        If it is in no format that labkit knows, or a line begins the output of two programs.
    """
    digest, kinds, first_line, begin, rest, last, size = hashlib.sha256(), set[str](), "", "", "", "", 0
    head, name = "", name or Path(path).name
    encoding = _encoding(path)
    for count, piece in _pieces(path, encoding, inside):
        size, last = size + count, piece[-1:] or last
        digest.update(piece.encode(errors="surrogatepass"))
        head = head or piece
        if not first_line:
            lines = piece[:LONGEST].removeprefix(_BOM).splitlines()
            first_line = next((line for line in lines if line.strip()), "")
            begin = " ".join(" ".join(lines).split()) if len(first_line.strip()) < _TELLING else first_line.strip()
        text = (rest + piece).removeprefix(_BOM).replace("\r\n", "\n")
        # a text of tables may be long; whether a log stands in it too is asked of its first piece only
        asked = _BEGINS if size <= PIECE or kinds.isdisjoint(FORMATS) else dict.fromkeys(FORMATS)
        kinds |= {
            kind
            for kind, form in _BEGINS.items()
            if kind in asked and kind not in kinds and any(mark in text for mark in _MARKS[kind]) and form.search(text)
        }
        if not kinds and piece.startswith(_ZIP):
            wanted, remedy = "a file of text", "Unpack it; of an Excel workbook, save the sheet as text."
            raise UnknownError(
                malformed(str(path), 0, "an archive or workbook", wanted, remedy), "an archive, or a workbook"
            )
        if not kinds and "\0" in piece:  # a program or other data, which may be of any size
            raise _unknown(str(path), [], "\0", "\0")
        rest = text[-256:].rpartition("\n")[2]
    if not kinds and not inside and size <= embedded.LARGEST and (found := _embedded(path, encoding, name)):
        return found
    if kinds and not inside and size <= embedded.LARGEST and (found := _of_ranks(path, encoding, name)):
        return found
    if not kinds and size <= PIECE:
        kinds = _of_rows(head)
    if kinds and (number := wrapped.beside(head)):
        line = head.split("\n")[number - 1]
        wanted, remedy = "one output: this line has the same text twice", "Save each of the two outputs to a file."
        raise UnknownError(malformed(str(path), number, line, wanted, remedy), "two outputs side by side")
    for log in [logs()[kind] for kind in sorted(kinds & set(logs()))]:
        kinds -= set(log.holds)
    cut = bool(_IN_LINE.match(last)) and not inside
    if len(kinds) == 1:
        return [Text(Path(path), kinds.pop(), digest.hexdigest(), size, encoding, name, cut, (), inside)]
    begins = {kind: _BEGINS[kind] for kind in sorted(kinds) if size <= LARGEST}
    whole = "".join(piece for _, piece in _pieces(path, encoding, inside)).replace("\r\n", "\n") if begins else ""
    parted = sections(whole, begins, _forms()) if begins else None
    if not parted:
        raise _unknown(str(path), sorted(kinds), first_line, begin, head)
    digests = {kind: hashlib.sha256(f"{digest.hexdigest()} {kind}".encode()).hexdigest() for kind in parted}
    end = max(own[-1][1] for own in parted.values())
    return [
        Text(Path(path), kind, digests[kind], size, encoding, name, cut and own[-1][1] == end, tuple(own), inside)
        for kind, own in parted.items()
    ]


def _embedded(path: str | Path, encoding: str, name: str) -> list[Text]:
    """Return the texts in the strings of a document that are outputs of benchmarks."""
    found = list[Text]()
    for place in embedded.texts("".join(piece for _, piece in _pieces(path, encoding)).removeprefix(_BOM)):
        with contextlib.suppress(UnknownError):
            found += parts(path, f"{name}#{place}", place)
    return found


def _of_ranks(path: str | Path, encoding: str, name: str) -> list[Text]:
    """Return the texts of ranks that each printed an output, with a label of the rank before every line."""
    ranks = embedded.of_ranks("".join(piece for _, piece in _decoded(path, encoding)))
    places = [place for place, text in ranks.items() if any(form.search(text) for form in _BEGINS.values())]
    if len(set(places) - {f"{embedded.RANK}none"}) < _SEVERAL:
        return []
    return [text for place in places for text in parts(path, f"{name}#{place}", place)]


def _of_rows(text: str) -> set[str]:
    """Return the kinds of logs that have a row in a text without the head of a table."""
    bare, _ = wrapped.bare(text)
    return {kind for kind, log in logs().items() if any(map(log.rows, bare.split("\n")))}


def _unknown(path: str, kinds: list[str], first_line: str, begin: str, head: str = "") -> UnknownError:
    """Return the error for a file of no kind, or of several."""
    if kinds:
        wanted, remedy = "the output of one program, not of several", "Split it into one file per program."
        found = " and ".join(kinds)
        return UnknownError(malformed(path, 0, found, wanted, remedy), f"output of {found} in one file: split it")
    if near := _named(head):
        number, line, kind = near
        wanted = f"all that {kind} printed: this line names {kind}, but no line begins its output"
        remedy = "Save the output from its first line on, or the JSON that the program writes."
        return UnknownError(
            malformed(path, number, line, wanted, remedy), f"line {number} names {kind}, but no line begins its output"
        )
    wanted = f"the output of a benchmark that labkit reads ({', '.join([*FORMATS, *logs()])})"
    remedy = "Name a file with the complete output of one program, including its head."
    begin = begin[:60]
    reason = f"begins with {begin!r}, which no benchmark that labkit reads prints" if begin else "empty"
    if "\ufffd" in begin or "\0" in begin:
        reason = "not text"
    return UnknownError(malformed(path, 1, first_line or "nothing", wanted, remedy), reason)


@cache
def _forms() -> dict[str, re.Pattern[str]]:
    """Return what a line that names a program matches, by format."""
    return {kind: re.compile(_NAMED.get(kind, rf"\b{re.escape(kind)}\b")) for kind in (*FORMATS, *logs())}


def _named(head: str) -> tuple[int, str, str] | None:
    """Return the first line that names a program whose output labkit reads, its number and the format; else None."""
    forms = _forms()
    for number, line in enumerate(head.splitlines()[:_LINES], 1):
        found = [kind for kind, form in forms.items() if form.search(line[:LONGEST])]
        if found:
            return number, line.strip(), max(found, key=len)  # iperf3 before iperf
    return None


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


def _pieces(path: str | Path, encoding: str, inside: str = "") -> Iterator[tuple[int, str]]:
    """Yield the text in pieces, without the prefixes of its lines, each with the number of bytes read."""
    if inside.startswith(embedded.RANK):
        text = embedded.of_ranks("".join(piece for _, piece in _decoded(path, encoding)))[inside]
        return wrapped.pieces([(len(text), text), (0, "")])
    pieces = wrapped.pieces(_decoded(path, encoding))
    if inside:
        text = embedded.texts("".join(piece for _, piece in pieces).removeprefix(_BOM))[inside]
        pieces = wrapped.pieces([(len(text), text), (0, "")])
    return pieces


def _decoded(path: str | Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the text in pieces, with the number of unpacked bytes; invalid bytes are replaced."""
    decoder, total = codecs.getincrementaldecoder(encoding)(errors="replace"), 0
    try:
        with os.fdopen(_open(path), "rb") as file:
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
