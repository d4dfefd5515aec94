"""Tables of the OSU micro-benchmarks without their title: below a command, or below the names of the columns alone.

A Markdown page takes the ``#`` of title and head away, and people copy a table without the lines above it. The program
is that of the last title or command above the table (``mpirun -n 2 osu_latency``). A table below neither keeps what its
columns name: a latency or a bandwidth. A text with a title as OMB prints it is read by `labkit.formats.omb`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from labkit.formats import omb
from labkit.formats.reading import lines as reading
from labkit.formats.reading import omb_names as names
from labkit.formats.reading.lines import TWO_DECIMALS, WHOLE, is_damaged_row, is_row
from labkit.formats.reading.log import UNTITLED, Log, Run
from labkit.formats.reading.table import Row, Table, unless_cut
from labkit.point.notes import note

CLOCK_NS = omb.CLOCK_NS
_COLUMN = r"(?:Avg )?Latency ?\((?:us|µs)\)|Bandwidth ?\(MB/s\)|(?:Min|Max) Latency ?\(us\)|Iterations"
_HEAD = re.compile(rf"#? *Size(?: *\((?:B|bytes)\))? +(?:{_COLUMN})(?: +(?:{_COLUMN}))*")
_NO_UNIT = re.compile(r"#? *Size +(?:(?:Avg )?Latency|Bandwidth)")
_BEGINS = re.compile(rf"[ \t]*(?:{_HEAD.pattern}|{_NO_UNIT.pattern})[ \t]*$")
_TITLE = re.compile(r"#* *(OSU \S.* Test)(?: (?:v|\(Version )?([\d.]+)\)?)?")
# a program in a line that runs it: a prompt, a launcher, a path, or nothing above
_PROGRAM = re.compile(r"\b(osu_[a-z]\w*)(?=\s|$)")
_PROMPT = re.compile(r"[$#>%] ")
_LAUNCHER = re.compile(r"\b(?:mpirun|mpiexec|srun|aprun|jsrun|prun|oshrun)\b")
_PATH = re.compile(r"(?:[\w.~-]*/)*")
_UNKNOWN = note(
    "test-unknown", "the text does not name the program: write its name, such as osu_latency, above the table"
)
_TWO = "the head '# Size  Latency (us)', or the command, such as osu_latency, above this row"


def runs(text: str, where: str) -> list[Run]:
    """Return one run per row of each table."""
    lines = reading.Lines(text, where, lambda line: bool(_BEGINS.match(line) or _program(line)))
    made, test, version = list[Run](), "", ""
    while (line := lines.past_blanks()) is not None:
        lines.drop_blanks()
        if program := _program(line):
            test, version = program
            lines.take()
            continue
        columns = _head(line)
        if _NO_UNIT.fullmatch(line.strip()):
            raise lines.wrong("a head with units, as '# Size  Latency (us)'", "Write the unit behind the name.")
        if columns:
            lines.take()
        elif is_row(line) or is_damaged_row(line, _COLUMNS):
            if not test:
                raise lines.wrong(_TWO)
            columns = names.columns(test, rate=_rate(test))
        else:
            lines.skip()
            continue
        made += _table(lines, test, version, columns)
        test, version = "", ""
    return made


_COLUMNS = 2  # of a row that is asked for without a head


def _rate(test: str) -> bool:
    return "Bandwidth" in names.TITLES[test]


def _head(line: str) -> tuple[str, ...]:
    """Return the columns behind the size, in OMB's words; none if the line is not a head."""
    if not _HEAD.fullmatch(line.strip()):
        return ()
    found = [re.sub(r" ?\((?:us|µs)\)", "(us)", column) for column in re.findall(_COLUMN, line)]
    plain = {"Latency(us)": "Latency (us)", "Bandwidth(MB/s)": "Bandwidth (MB/s)"}
    return tuple(plain.get(column, column) for column in found)


def _program(line: str) -> tuple[str, str] | None:
    """Return program and version of a title or a command; None if the line is neither."""
    if title := _TITLE.fullmatch(line.strip()):
        return (names.TESTS[title[1].lower()], title[2] or "") if title[1].lower() in names.TESTS else None
    program = _command(line)
    return (program, "") if program in names.TITLES else None


def _command(line: str) -> str:
    """Return the program of OMB that a line runs; empty if it runs none."""
    named = [*_PROGRAM.finditer(line)]
    if not named:
        return ""
    first, last = named[0], named[-1]
    prompt, launcher = _PROMPT.search(line, 0, last.start()), _LAUNCHER.search(line, 0, last.start())
    if prompt or (launcher and line[last.start() - 1] in " /"):
        return last[1]
    return first[1] if _PATH.fullmatch(line, 0, first.start()) else ""


def _table(lines: reading.Lines, test: str, version: str, columns: tuple[str, ...]) -> list[Run]:
    """Read the rows of one table."""
    if test and any(column.startswith(("Bandwidth", "MB/s")) for column in columns) != _rate(test):
        raise lines.wrong(f"a table of {test}, but its columns are {', '.join(columns)}")
    rows = _rows(lines, ("Size", *columns))
    measured = "bandwidth" if columns[0].startswith("Bandwidth") else "latency"
    table = Table(test or "osu_latency", "", version, {}, columns, ())
    two = test in names.PAIRS and not re.search(r"multi|mbw|_mp$|hello|init", test)
    doubts = (UNTITLED,) if test else (UNTITLED, _UNKNOWN)
    return [
        Run(
            test=test or f"OMB unnamed {measured}",
            values=tuple(omb.reported(table, row)),
            line=row.line,
            size=row.size or 0,
            ranks=2 if two else 0,
            version=version,
            doubts=doubts,
            source=f"{row.text}\n",
        )
        for row in rows
    ]


def _rows(lines: reading.Lines, columns: Sequence[str]) -> list[Row]:
    """Take the rows below a head; their sizes rise."""
    forms = [WHOLE if column in ("Size", "Iterations") else TWO_DECIMALS for column in columns]
    rows, last = list[Row](), -1
    while lines.row_follows(
        lambda line: False,
        lambda line: line.startswith("#") or bool(_head(line) or _program(line)),
        lambda line: is_row(line) or is_damaged_row(line, len(columns)),
    ):
        row = unless_cut(lines, lambda: omb.row_of(lines, columns, forms, ""), above=bool(rows))
        last = omb.risen(lines, row, last)
        rows += row
    if not rows:
        raise lines.wrong(f"a row of {', '.join(columns)} below their names")
    return rows


LOG = Log("OMB excerpt", ("Size", "osu_"), _BEGINS, runs, rows=_program)
