"""The text of a file: its format, its checksum, and its tables, read piece by piece."""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

from labkit.errors import DataError
from labkit.formats import logs, malformed, omb_excerpt
from labkit.formats.reading import wrapped
from labkit.formats.reading.lines import LONGEST, Lines
from labkit.formats.reading.log import LARGEST, SHORTENED, Log, Run
from labkit.formats.reading.table import Table
from labkit.formats.reading.values import CutError
from labkit.point.notes import Note, note
from labkit.run.importing import embedded
from labkit.run.importing.kinds import BEGINS, FORMATS, MARKS
from labkit.run.importing.pieces import BOM, PIECE, decoded, encoding_of, pieces
from labkit.run.importing.sections import only, sections

PART = 1 << 12  # rows of a long table in memory
_TELLING = 20  # characters of a first line that say what a file is; a shorter one is shown with what follows
# what a line with the name of a program, or with a title that it prints, contains; else it is the name of the format
_NAMED = {
    **dict.fromkeys(("OMB", "OMB excerpt"), r"osu_[a-z]\w+|\bOSU (?:MPI|OpenSHMEM|UPC|NCCL)"),
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
_WORDS = 10  # characters of words that tell a format
_LISTED = "`labkit import --help` lists the programs."
_SEVERAL = 2  # ranks
_NUMBERS = re.compile(r"\s*\d[\d.,]*(?:[ \t|]+\d[\d.,]*)+\s*")  # a row of a table
_SHORT = 1 << 17  # B of a text in which rows without a head beside other outputs are looked for
_LINES = 10_000  # that are searched for such a name
_ZIP = "PK\x03\x04"  # first characters of a ZIP archive, as an Excel workbook is
_IN_LINE = re.compile(r".*(?:[\w.,%+/(:;-]|\S[ \t]+)")  # a last line that may be cut; that of JSON ends with a bracket
_OPEN = note(
    "open-end", "the file does not end with a line end, so its last line may be cut. Compare it with the tool's output"
)


@dataclass(frozen=True)
class Text:
    """A file with known format and checksum.

    Parameters
    ----------
    path : path of the file.
    kind : key of `FORMATS`, or of `labkit.formats.logs`.
    digest : SHA-256 of the text, which names it.
    size : B.
    encoding : encoding of its characters.
    name : name of the file; with its folders, if a folder was named.
    open : whether it ends inside a line, so that its last number may lack digits.
    own : first and last lines, from 0, of its program, in a file that several programs have written; else empty.
    inside : place of the text in the document that the file holds, such as JSON; empty if it is the file.
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
        text = "".join(piece for _, piece in self._pieces()).removeprefix(BOM)
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
        every = pieces(self.path, self.encoding, self.inside)
        if not self.own:
            return every
        return iter([(self.size, only("".join(piece for _, piece in every), self.own))])

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

        def texts() -> Iterator[str]:
            first = True
            for count, piece in self._pieces():
                read(count)
                yield piece.removeprefix(BOM) if first else piece
                first = first and not piece

        lines: Lines = self.form.lines_of(texts(), self.where)
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
    found, outside = wrapped.documents(text, BEGINS[log.name])
    if not found:
        return log.runs(text, where)
    # newlines replace the text above, so that line numbers stay right
    parts = [text] if log.joins else ["\n" * text.count("\n", 0, first) + text[first:last] for first, last in found]
    made = [run for part in parts for run in log.runs(part, where)]
    if BEGINS[log.name].search(outside) and not _same(log.runs(outside, where), made):
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
    """Find the formats of a file by its content: one for each program with output in it.

    A document may have outputs in its strings; each such string is read as a text.

    Parameters
    ----------
    path : path of the file.
    name : what its points call it; by default its last part.
    inside : place of a text in the document that the file holds; empty for the file itself.

    Raises
    ------
    DataError
        If it cannot be read, or is not a regular file.
    UnknownError
        If it is in no format that labkit knows, or a line begins the output of two programs.
    """
    digest, kinds, first_line, begin, rest, size = hashlib.sha256(), set[str](), "", "", "", 0
    head, name = "", name or Path(path).name
    encoding = encoding_of(path)
    for count, piece in pieces(path, encoding, inside):
        size += count
        digest.update(piece.encode(errors="surrogatepass"))
        head = head or piece
        if not first_line:
            lines = piece[:LONGEST].removeprefix(BOM).splitlines()
            first_line = next((line for line in lines if line.strip()), "")
            begin = " ".join(" ".join(lines).split()) if len(first_line.strip()) < _TELLING else first_line.strip()
        text = (rest + piece).removeprefix(BOM).replace("\r\n", "\n")
        # a text of tables may be long; whether a log stands in it too is asked of its first piece only
        asked = BEGINS if size <= PIECE or kinds.isdisjoint(FORMATS) else dict.fromkeys(FORMATS)
        kinds |= {
            kind
            for kind, form in BEGINS.items()
            if kind in asked and kind not in kinds and any(mark in text for mark in MARKS[kind]) and form.search(text)
        }
        if not kinds and piece.startswith(_ZIP):
            wanted, remedy = "a file of text", "Unpack it; of an Excel workbook, save the sheet as text."
            raise UnknownError(
                malformed(str(path), 0, "an archive or workbook", wanted, remedy), "an archive, or a workbook"
            )
        if not kinds and "\0" in piece:  # a program or other data, which may be of any size
            raise _unknown(str(path), [], "\0", "\0")
        rest = text[-256:].rpartition("\n")[2]
    if not inside and size <= embedded.LARGEST and (found := _several(path, encoding, name, kinds, head)):
        return found
    begins = {kind: BEGINS[kind] for kind in sorted(kinds)}
    further = _of_rows(head, kinds) if size <= (_SHORT if kinds else PIECE) else {}
    if not kinds:
        kinds, begins, further = set(further), further, {}
    if kinds and (number := wrapped.beside(head)):
        line = head.split("\n")[number - 1]
        wanted, remedy = "one output: this line has the same text twice", "Save each of the two outputs to a file."
        raise UnknownError(malformed(str(path), number, line, wanted, remedy), "two outputs side by side")
    # a string of JSON ends without a line end; the lines of a rank keep theirs
    cut = bool(_IN_LINE.fullmatch(rest)) and (not inside or inside.startswith(embedded.RANK))
    whole = Text(Path(path), "", digest.hexdigest(), size, encoding, name, cut, (), inside)
    if further and (texts := _parted(whole, further | begins)) and all(map(_readable, texts)):
        return texts  # rows without a head beside other outputs
    if texts := _parted(whole, begins):
        return texts
    raise _unknown(str(path), sorted(kinds), first_line, begin, head)


def _parted(whole: Text, begins: Mapping[str, re.Pattern[str]]) -> list[Text]:
    """Return a text for each program of a file, if each output begins with a known line; none if they conflict."""
    kinds = set(begins)
    if "OMB" in kinds:  # reads all tables of a text that has titles
        kinds.discard(omb_excerpt.LOG.name)
    for log in [logs()[kind] for kind in sorted(kinds & set(logs()))]:
        kinds -= set(log.holds)
    if len(kinds) == 1:
        return [replace(whole, kind=kinds.pop())]
    if not kinds or whole.size > LARGEST:
        return []
    text = "".join(piece for _, piece in pieces(whole.path, whole.encoding, whole.inside)).replace("\r\n", "\n")
    found = sections(text, {kind: begins[kind] for kind in sorted(kinds)}, _forms()) or {}
    end = max((own[-1][1] for own in found.values()), default=0)
    return [
        replace(
            whole,
            kind=kind,
            digest=hashlib.sha256(f"{whole.digest} {kind}".encode()).hexdigest(),
            open=whole.open and own[-1][1] == end,
            own=tuple(own),
        )
        for kind, own in found.items()
    ]


def _readable(text: Text) -> bool:
    """Return whether a text can be read to its end."""
    try:
        if text.log:
            return bool(text.runs(lambda count: None))
        return len(list(text.tables(text.lines(lambda count: None)))) > 0
    except DataError:
        return False


def _several(path: str | Path, encoding: str, name: str, kinds: set[str], head: str) -> list[Text]:
    """Return the texts of a file that is not one text: with Markdown tables, lines of ranks, or a document."""
    if "JUBE" not in kinds and (found := _of_tables(path, head, name)):
        return found
    if kinds and not embedded.holds_lines(head):
        return _of_ranks(path, encoding, name)
    return _embedded(path, encoding, name)


def _embedded(path: str | Path, encoding: str, name: str) -> list[Text]:
    """Return the texts in the strings of a document that are outputs of benchmarks."""
    found = list[Text]()
    for place in embedded.texts("".join(piece for _, piece in pieces(path, encoding)).removeprefix(BOM)):
        with contextlib.suppress(UnknownError):
            found += parts(path, f"{name}#{place}", place)
    return found


def _of_tables(path: str | Path, text: str, name: str) -> list[Text]:
    """Return the texts of a file with Markdown tables that are outputs of benchmarks."""
    with contextlib.suppress(UnknownError):
        return parts(path, name, embedded.TABLES) if embedded.of_tables(text.removeprefix(BOM)) else []
    return []


def _of_ranks(path: str | Path, encoding: str, name: str) -> list[Text]:
    """Return the texts of ranks that each printed an output, with a label of the rank before every line."""
    _, first = next(decoded(path, encoding), (0, ""))
    if not embedded.of_ranks(first):
        return []
    ranks = embedded.of_ranks("".join(piece for _, piece in decoded(path, encoding)))
    places = [place for place, text in ranks.items() if any(form.search(text) for form in BEGINS.values())]
    if len(set(places) - {f"{embedded.RANK}none"}) < _SEVERAL:
        return []
    return [text for place in places for text in parts(path, f"{name}#{place}", place)]


def _of_rows(text: str, kinds: Collection[str]) -> dict[str, re.Pattern[str]]:
    """Return what matches the rows in a text of logs of other kinds, as of tables without a head; by kind."""
    held = {one for kind in {*kinds} & {*logs()} for one in logs()[kind].holds}
    lines = wrapped.bare(text)[0].split("\n")
    found = {}
    for kind, log in logs().items():
        if kind not in held and kind not in kinds and (rows := {line.strip() for line in lines if log.rows(line)}):
            found[kind] = re.compile(rf"^.*(?:{'|'.join(map(re.escape, sorted(rows)))})[ \t\r]*$", re.MULTILINE)
    return found


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
    wanted = "the output of a benchmark that labkit reads"
    if words := wrapped.shared(head):
        wanted += f"; {words!r} stands before almost every line: it may be in the way"
    remedy = f"Name a file with the complete output of one program, including its head. {_LISTED}"
    begin = begin[:60]
    rows = [(number, line) for number, line in enumerate(head.splitlines(), 1) if _NUMBERS.fullmatch(line[:LONGEST])]
    if rows and "\0" not in head:
        number, row = rows[0]
        wanted = "above this row the head of its table, or the command that printed it, as labkit knows them"
        remedy = f"Add that line. {_LISTED}"
        return UnknownError(malformed(path, number, row, wanted, remedy), f"line {number} is a row without a head")
    if near := _nearest(head):
        number, line, kind = near
        reason = f"line {number} may be of {kind}, but no line begins its output"
        return UnknownError(malformed(path, number, line, f"a line that begins the output of {kind}", remedy), reason)
    reason = f"begins with {begin!r}, which no benchmark that labkit reads prints" if begin else "empty"
    if "\ufffd" in begin or "\0" in begin:
        reason = "not text"
    return UnknownError(malformed(path, 1, first_line or "nothing", wanted, remedy), reason)


def _nearest(head: str) -> tuple[int, str, str] | None:
    """Return the first line with words that only one format has, with its number and the format; else None."""
    if "\0" in head:
        return None
    for number, line in enumerate(head.splitlines()[:_LINES], 1):
        found = {kind for kind, marks in MARKS.items() for mark in marks if len(mark) >= _WORDS and mark in line}
        if len(found) == 1:
            return number, line.strip(), found.pop()
    return None


@cache
def _forms() -> dict[str, re.Pattern[str]]:
    """Return what a line that names a program matches, by format."""
    return {kind: re.compile(_NAMED.get(kind, rf"\b{re.escape(kind)}\b")) for kind in (*FORMATS, *logs())}


def _named(head: str) -> tuple[int, str, str] | None:
    """Return the first line that names a program with a known format, with its number and the format; else None."""
    forms = _forms()
    for number, line in enumerate(head.splitlines()[:_LINES], 1):
        found = [kind for kind, form in forms.items() if form.search(line[:LONGEST])]
        if found:
            return number, line.strip(), max(found, key=len)  # iperf3 before iperf
    return None
