"""Read tables of the OSU micro-benchmarks (OMB 7.4; osu_util_mpi.c prints them), and write them in the same layout.

OMB counts 10^6 B to the MB and prints two decimals, so 0.26 µs is known to 2 % only. Collectives print the mean over
ranks of each rank's mean time (``osu_mean``), with -f the means of the fastest and the slowest rank. The percentiles of
-z count single iterations between two ranks, but for collectives the mean over ranks of each iteration (``osu_p50``…).
Percentiles of a bandwidth count from the slowest window upwards: OMB's P1 is the rate that 99 % of the windows exceed,
which is labkit's p99. OMB prints 0.00 for a percentile with too few iterations; it is left out here.

Some programs cannot be distinguished by their text: osu_bw_fan_in and osu_bw_fan_out print what osu_bw does, and
osu_oshm_get_nb what osu_oshm_get does. osu_neighbor_alltoallw has the title of osu_alltoallw, but a line on its graph
before it; osu_oshm_put_overlap has the title of osu_oshm_put_nb, but other columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from operator import lt

from labkit.formats import _omb_operations, malformed
from labkit.formats.reading.lines import TWO_DECIMALS, WHOLE, Lines, is_damaged_row, is_row
from labkit.formats.reading.omb_names import COLUMNS, FACTORS, OSHM_WIDTH, PAIRS, PGAS_PAIRS, SHMEM_PAIRS, TESTS, TITLES
from labkit.formats.reading.table import Meaning, Row, Table, bulk, in_parts, printed, unless_cut
from labkit.point.columns import METRICS
from labkit.point.spec import Reported

CLOCK_NS = 10.0  # prints µs with two decimals
_TAIL = re.compile(r"P(\d{1,2}(?:\.\d+)?) Tail (Lat\(us\)|BW\(MB/s\))")
_NAMES = "|".join([*map(re.escape, COLUMNS), "Iterations", "Validation", _TAIL.pattern])
_HEAD = re.compile(rf"# (?:Size |Operation )? *(?:{_NAMES})(?: +(?:{_NAMES}))*")
_BARE_HEAD = re.compile(
    rf"(?:Size)? +(?:{_NAMES})(?: +(?:{_NAMES}))*"
)  # of osu_ibarrier before version 7, and of Markdown
_TITLE = re.compile(r"# (OSU \S.*?)(?: (?:v|\(Version )([\w.-]+)\)?)?")
_BEFORE = re.compile(r"# Number of .+|Dimensions size = .+|Time took to create topology graph:.+")
ACCELERATOR = re.compile(r"-(CUDA MANAGED|CUDA|MANAGED|OPENACC|ROCM|CXL)\b")
_INIT = re.compile(r"nprocs: (\d{1,9}), min: (\d{1,18}) ms, max: (\d{1,18}) ms, avg: (\d{1,18}) ms")
_HELLO = re.compile(r"This is a test with (\d{1,9}) processes")
ENDLESS = 1 << 62  # rows
_FORMS = {"Iterations": WHOLE, "Validation": "Pass|Fail", "Transmit Size": WHOLE, "Window": WHOLE, "Size": WHOLE}
_FACT = re.compile(r"(?:# )?([^:=\[]{1,60}?)(?: ?:| =) +(.+?)\.?")
_MATRIX = re.compile(r"# +\d+(?: +\d+)*")
_INVALID = "DATA VALIDATION ERROR: "
_STARTS = ("nprocs: ", "This is a test with ", "Dimensions size = ", "Time took to create topology graph:", _INVALID)
_WIDTH = 18  # of a column
# of the values of programs of OpenSHMEM, UPC and UPC++ with an overlap
_OSHM_OVERLAP_WIDTH = 17
# a title, not a heading of Markdown
BEGINS, MARKS = r"# OSU \S[^\n]*(?: Test\b| v\d|\(Version )", ("# OSU ",)


def recognised(text: str) -> bool:
    """Whether a text has output of OMB."""
    return re.search(rf"^{BEGINS}", text, flags=re.MULTILINE) is not None


def lines_of(text: str | Iterable[str], where: str) -> Lines:
    """Return the lines of a text that OMB may have printed."""
    return Lines(text, where, lambda line: line.startswith((*_STARTS, "shmem_")) or bool(_BARE_HEAD.fullmatch(line)))


def parse(text: str, where: str = "OMB's output") -> tuple[Table, ...]:
    """Parse every table of a text with the output of one or more runs.

    Parameters
    ----------
    where : how errors call the text, such as its path.

    Raises
    ------
    DataError
        For a line that does not fit, or an end where there must be more; names line, found and wanted.
    """
    lines = lines_of(text, where)
    *before, last = tables(lines)
    closing = (*last.closing, *lines.table_lines)
    return (*before, replace(last, closing=closing, last=max(last.last, lines.taken)))


def tables(lines: Lines, most: int = ENDLESS) -> Iterator[Table]:
    """Yield the tables one after the other; one with more rows than `most` comes in parts.

    Raises
    ------
    DataError
        As `parse`, once it is there.
    """
    any_table = False
    while lines.past_blanks() is not None:
        for table in _program(lines, most):
            yield table
            any_table = True
    while lines.ahead is not None:
        lines.take()
    if not any_table:
        raise lines.none("a line '# OSU …', as every program of OMB prints first")


def _program(lines: Lines, most: int) -> Iterator[Table]:
    """Yield the tables of one program: one, or with ``-T all`` one for each datatype; none at the end of the text."""
    if not _to_title(lines):
        return
    heading = _title(lines.ahead)
    assert heading is not None
    title, version = heading[1], heading[2] or ""
    test = TESTS.get(ACCELERATOR.sub("", title).lower(), "")
    if test == "osu_alltoallw" and any(line.startswith(("Dimensions", "Time took")) for line in lines.table_lines):
        test = "osu_neighbor_alltoallw"
    lines.take()
    while _title(lines.past_blanks()):
        _again(lines, heading[0])
    if test in ("osu_init", "osu_hello"):
        yield _prose(lines, test, title, version)
        return
    types, before = set[str](), tuple[str, ...]()
    while not before or (lines.ahead or "").startswith("# Datatype: "):
        columns, parameters, head = _head(lines, first=not before)
        if test == "osu_oshm_put_nb" and "Overlap(%)" in columns:
            test = "osu_oshm_put_overlap"
        if before and parameters.get("Datatype", "") in types:
            raise lines.wrong("a line '# OSU …': the datatype is the same as before")
        if before and columns != before:
            raise lines.wrong(f"a line '# OSU …' above: other columns than before, {', '.join(before)}")
        before = columns
        types.add(parameters.get("Datatype", ""))
        matrix = bool(_MATRIX.fullmatch(columns[0]))
        table_columns = (
            ("Window", "MB/s", "Messages/s") if matrix else tuple(name for name in columns if name != "Size")
        )
        above = tuple(lines.table_lines[:-1])
        parameters |= _below_head(lines)
        types.add(parameters.get("Datatype", ""))
        if columns[0] == "Operation":
            parts = _omb_operations.rows(lines, ("#", *_STARTS))
        else:
            parts = _matrix_rows(lines, columns) if matrix else _rows(lines, columns, head, most)
        yield from in_parts(Table(test, title, version, parameters, table_columns, (), above, head=head), parts, lines)


def _to_title(lines: Lines) -> bool:
    """Take lines up to a title and leave out other text; False if there is no further title."""
    while (ahead := lines.ahead) is not None:
        if _title(ahead):
            return True
        if is_row(ahead) or _HEAD.fullmatch(ahead) or ahead.startswith(("# Datatype: ", *_STARTS[:2], _INVALID)):
            raise lines.wrong("a line '# OSU …', as every program of OMB prints first")
        if not ahead or _BEFORE.fullmatch(ahead):
            lines.take()
        else:
            lines.skip()
    return False


def _again(lines: Lines, title: str) -> None:
    """Leave out a title that was printed twice."""
    lines.drop_blanks()
    if lines.ahead != title:
        raise lines.wrong("the names of the columns, as in '# Size  Avg Latency(us)'")
    lines.skip()


def _prose(lines: Lines, test: str, title: str, version: str) -> Table:
    """Read the one line that osu_init and osu_hello print."""
    form, wanted = {
        "osu_init": (_INIT, "'nprocs: N, min: N ms, max: N ms, avg: N ms'"),
        "osu_hello": (_HELLO, "'This is a test with N processes'"),
    }[test]
    match = form.fullmatch(lines.ahead or "")
    if not match:
        raise lines.wrong(wanted)
    above, text = tuple(lines.table_lines), lines.take()
    first, last, table_lines = lines.first, lines.taken, tuple(lines.table_lines)
    lines.mark()
    if test == "osu_hello":
        parameters = {"processes": match[1]}
        return Table(
            test, title, version, parameters, (), (), above, (text,), first=first, last=last, lines=table_lines
        )
    row = Row(None, tuple(int(text) for text in match.groups()[1:]), line=last, text=text)
    columns = ("min (ms)", "max (ms)", "avg (ms)")
    return Table(
        test, title, version, {"nprocs": match[1]}, columns, (row,), above, first=first, last=last, lines=table_lines
    )


def _head(lines: Lines, *, first: bool) -> tuple[tuple[str, ...], dict[str, str], str]:
    """Read the lines up to the head of a table.

    Returns
    -------
    Columns, with `Size` where the table has it, or the head of a matrix; parameters from the lines above; the line.
    """
    start = len(lines.table_lines)
    while True:
        ahead = lines.ahead
        if ahead is not None and _columns(ahead):
            break
        if ahead is None or _title(ahead) or is_row(ahead) or ahead.startswith(_STARTS):
            raise lines.wrong("the names of the columns, as in '# Size  Avg Latency(us)'")
        if not first and len(lines.table_lines) > start:
            raise lines.wrong("the names of the columns right below '# Datatype: …'")
        if ahead and not ahead.startswith("# "):
            lines.skip()
        else:
            lines.take()
    parameters = dict(_facts(tuple(lines.table_lines)))
    head = lines.take()
    return _columns(head), parameters, lines.table_lines[-1] if lines.table_lines else head


def _below_head(lines: Lines) -> dict[str, str]:
    """Consume the lines that some versions print between the head and the first row, and return their parameters."""
    found = list[str]()
    while (ahead := lines.ahead) is not None and ahead.startswith("# ") and _FACT.fullmatch(ahead):
        found.append(ahead)
        lines.take()
    return dict(_facts(tuple(found)))


def _title(line: str | None) -> re.Match[str] | None:
    """Title and version if a line is a title: it has a version or the word "Test", unlike a heading of a text."""
    title = _TITLE.fullmatch(line) if line and line.startswith("# OSU ") else None
    return title if title and (title[2] or " Test" in title[1]) else None


@lru_cache(256)
def _columns(line: str) -> tuple[str, ...]:
    """Return the columns that a line names, with `Size`, or the head of a matrix; none if the line is not a head."""
    if _MATRIX.fullmatch(line):
        return (line,)
    if _BARE_HEAD.fullmatch(line):
        line = f"# {line}"
    if not _HEAD.fullmatch(line):
        return ()
    names = [match[0] for match in re.finditer(_NAMES, line)]
    first = line.split()[1]
    return tuple([first, *names] if first in ("Size", "Operation") else names)


@lru_cache(256)
def _facts(lines: tuple[str, ...]) -> Mapping[str, str]:
    """Return the parameters that the lines above a table state."""
    above, facts = [line.strip() for line in lines if line.strip()], dict[str, str]()
    for line in above:
        facts |= {key.strip(): value.strip() for key, value in re.findall(r"\[ ([^:]+):([^]]+)\]", line)}
    for line in above:
        if pair := _FACT.fullmatch(line):
            facts[pair[1]] = pair[2]
    return facts


# ---- rows ------------------------------------------------------------------------------------------------------


def _rows(lines: Lines, columns: Sequence[str], head: str, most: int) -> Iterator[tuple[Row, ...]]:
    """Yield the rows below a head, part by part; sizes must rise. Takes the line that closes the table too."""
    forms = [_FORMS.get(column, TWO_DECIMALS) for column in columns]
    take, last, count = partial(row_of, lines, columns, forms, head), -1, 0
    while True:
        part = bulk(lines, columns, forms, "Size", most) if columns[0] == "Size" else []
        while len(part) < most and _row_follows(lines, columns, head, count + len(part)):
            part += unless_cut(lines, take, above=count + len(part) > 0)
        last = risen(lines, part, last)
        count += len(part)
        if part:
            yield tuple(part)
        if len(part) < most:  # what follows is not a row
            break
    if not count:
        raise lines.wrong("a row of the table")
    if (lines.ahead or "").startswith(_INVALID):
        lines.take()


def _row_follows(lines: Lines, columns: Sequence[str], head: str, before: int) -> bool:
    """Whether there is another row; a table without sizes has one row."""
    sized = columns[0] == "Size"
    if not sized and before:
        return False
    return lines.row_follows(
        lambda line: line.startswith("#") and line == head.strip() and not _MATRIX.fullmatch(line),
        lambda line: line.startswith(("#", *_STARTS)),
        lambda line: not sized or is_row(line) or is_damaged_row(line, len(columns)),
    )


def row_of(lines: Lines, columns: Sequence[str], forms: Sequence[str], head: str) -> Row:
    """Take the row ahead."""
    text = lines.ahead or ""
    fields = text.split()
    if len(fields) != len(columns):
        raise lines.wrong(f"a row of {len(columns)} values: {', '.join(columns)}")
    cells = [cell for cell in zip(fields, columns, forms, strict=True) if cell[1] != "Size"]
    values = [lines.value(value, form, f"{column} as OMB prints it") for value, column, form in cells]
    if columns[0] == "Size" and not re.fullmatch(WHOLE, fields[0]):
        raise lines.wrong(f"a size in bytes instead of {fields[0][:40]!r}")
    lines.whole_row(head, forms[-1])
    number = lines.number
    lines.take()
    return Row(int(fields[0]) if columns[0] == "Size" else None, tuple(values), line=number, text=text)


def risen(lines: Lines, rows: Sequence[Row], last: int) -> int:
    """Refuse sizes that do not rise; return the last one."""
    sizes = [row.size for row in rows if row.size is not None]
    if all(map(lt, [last, *sizes], sizes)):
        return sizes[-1] if sizes else last
    for row in rows:
        if row.size is not None:
            if row.size <= last:
                raise malformed(
                    lines.where,
                    row.line,
                    row.text,
                    f"a size above {last}",
                    "Two runs may have written to this file: use one file per run.",
                )
            last = row.size
    return last


def _matrix_rows(lines: Lines, head: Sequence[str]) -> Iterator[tuple[Row, ...]]:
    """Rows of ``osu_mbw_mr -V``: two matrices, bandwidth and message rate over size and window."""
    windows = head[0][1:].split()
    columns = ("Size", *windows)
    (bandwidths,) = _rows(lines, columns, head[0], ENDLESS)
    for wanted in ("", "# Message Rate Profile", head[0]):
        if lines.ahead != wanted:
            raise lines.wrong(f"{wanted!r} and the matrix of message rates")
        lines.take()
    (rates,) = _rows(lines, columns, head[0], ENDLESS)
    if [row.size for row in rates] != [row.size for row in bandwidths]:
        raise lines.wrong(f"message rates for the sizes {[row.size for row in bandwidths]}")
    yield tuple(
        Row(row.size, (int(window), bandwidth, rate), line=row.line, text=row.text)
        for row, rate_row in zip(bandwidths, rates, strict=True)
        for window, bandwidth, rate in zip(windows, row.values, rate_row.values, strict=True)
    )


# ---- values ----------------------------------------------------------------------------------------------------


def meanings(table: Table) -> list[Meaning]:
    """Return the columns of a table under labkit's names."""
    of_pairs = {*PAIRS, *SHMEM_PAIRS, *PGAS_PAIRS, "osu_oshm_atomics"} - {"osu_init"}
    pairs, described = table.test in of_pairs, []
    for place, column in enumerate(table.columns):
        if column in ("Iterations", "Window", "Validation", "Operation"):
            continue
        if tail := _TAIL.fullmatch(column):
            described.append(_percentile(place, Decimal(tail[1]), tail[2], pairs))
            continue
        name, unit, statistic = COLUMNS[column]
        plain = statistic or ("mean" if pairs and not TITLES[table.test].startswith("OSU MPI_") else "osu_mean")
        unit = METRICS[name].unit if name in METRICS else unit
        described.append(Meaning(place, name, unit, plain, FACTORS.get(column, 1.0)))
    return described


def _percentile(place: int, percent: Decimal, kind: str, pairs: bool) -> Meaning:
    """Return the meaning of a percentile of -z, counted from the fast side."""
    if kind.startswith("BW"):
        name, statistic = "bandwidth_MBps", f"p{_digits(100 - percent)}"
    else:
        name, statistic = "latency_us", f"p{_digits(percent)}" if pairs else f"osu_p{_digits(percent)}"
    return Meaning(place, name, METRICS[name].unit, statistic, above_zero=True)


def _digits(percent: Decimal) -> str:
    """Return the digits of a percentile's name, as in ``p999``."""
    return f"{percent}".replace(".", "")


def reported(table: Table, row: Row) -> list[Reported]:
    """Return the values of a row under labkit's names.

    Returns
    -------
    Metrics as in `labkit.point.columns`, and OMB's own: ``init_us``, ``test_us`` and ``wait_us`` of non-blocking
    collectives with -f, ``init_ms``, ``transmit_size_B``. What is not finite is left out.
    """
    values = ((meaning, meaning.value(row)) for meaning in meanings(table))
    return [
        Reported(meaning.name, meaning.unit, meaning.statistic, value) for meaning, value in values if value is not None
    ]


# ---- writing ---------------------------------------------------------------------------------------------------


def write(tables: Iterable[Table]) -> str:
    """Return the text of tables, as OMB lays it out; `parse` reads it back."""
    lines: list[str] = []
    for table in tables:
        lines += table.preamble
        if table.columns[:1] == ("Window",):
            lines += _matrix_lines(table)
        elif table.columns[:1] == ("Operation",):
            lines += _omb_operations.written(table)
        elif table.test == "osu_init":
            low, high, mean = table.rows[0].values
            lines.append(f"nprocs: {table.parameters['nprocs']}, min: {low} ms, max: {high} ms, avg: {mean} ms")
        elif table.columns:
            lines += _table_lines(table)
        lines += table.closing
    return "".join(f"{line}\n" for line in lines)


def _table_lines(table: Table) -> list[str]:
    """Head and rows: the size flushed left, or the first column as wide as its name."""
    oshm = table.test.startswith(("osu_oshm_", "osu_upc"))
    widths = [12 if name == "Iterations" else OSHM_WIDTH if oshm else _WIDTH for name in table.columns]
    start = f"{'# Size':10}" if table.sized else ""
    if not table.sized:
        widths[0] = len(table.columns[0]) + 2
    names = table.columns if table.sized else (f"# {table.columns[0]}", *table.columns[1:])
    lines = [start + "".join(name.rjust(width) for name, width in zip(names, widths, strict=True))]
    if table.test == "osu_latency_mp" and len(widths) == 1:
        widths = [10]
    if oshm and len(widths) > 1:
        widths = [_OSHM_OVERLAP_WIDTH] * len(widths)
    for row in table.rows:
        start = "" if row.size is None else f"{row.size:<10}"
        lines.append(start + "".join(printed(v).rjust(w) for v, w in zip(row.values, widths, strict=True)))
    return lines


def _matrix_lines(table: Table) -> list[str]:
    """The two matrices of ``osu_mbw_mr -V``."""
    windows = list(dict.fromkeys(row.values[0] for row in table.rows))
    head = "#      " + "".join(f"  {window:>10}" for window in windows)
    lines = [head]
    for place in (1, 2):
        if place == 2:
            lines += ["", "# Message Rate Profile", head]
        for at in range(0, len(table.rows), len(windows)):
            group = table.rows[at : at + len(windows)]
            lines.append(f"{group[0].size:<7}" + "".join(f"  {printed(row.values[place]):>10}" for row in group))
    return lines
