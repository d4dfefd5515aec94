"""Tables of the OSU micro-benchmarks (OMB 7.4; osu_util_mpi.c prints them): read, and written in the same layout.

OMB counts 10^6 B to the MB and prints two decimals, so 0.26 µs is known to 2 % only. Collectives print the mean over
ranks of each rank's mean time (``osu_mean``), with -f the means of the fastest and the slowest rank. The percentiles of
-z are of iterations between two ranks, but of the rank-averaged iterations of a collective (``osu_p50``…), and those
of a bandwidth count from the slowest window upwards: OMB's P1 is the rate that 99 % of the windows exceed, which is
labkit's p99. A percentile for which there were too few iterations is printed as 0.00 and left out here.

Two pairs of programs cannot be told apart by their text: osu_bw_fan_in and osu_bw_fan_out print what osu_bw does, and
osu_neighbor_alltoallw has the title of osu_alltoallw, but a line on its graph before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from labkit.columns import METRICS
from labkit.formats._omb_names import COLUMNS, PAIRS, TESTS, TITLES
from labkit.formats._table import TWO_DECIMALS, WHOLE, Lines, Row, Table, joined, printed
from labkit.spec import Reported

WIDTH = 18  # of a column
_OTHERS = {"Iterations": WHOLE, "Validation": "Pass|Fail", "Transmit Size": WHOLE, "Window": WHOLE}
_TAIL = re.compile(r"P(\d{1,2}) Tail (Lat\(us\)|BW\(MB/s\))")
_NAMES = "|".join([*map(re.escape, COLUMNS), "Iterations", "Validation", _TAIL.pattern])
_HEAD = re.compile(rf"# (?:Size )? *(?:{_NAMES})(?: +(?:{_NAMES}))*")
_MATRIX = re.compile(r"# +\d+(?: +\d+)*")
_TITLE = re.compile(r"# (OSU \S.*?)(?: v([\w.-]+))?")
_BEFORE = re.compile(r"# Number of .+|Dimensions size = .+|Time took to create topology graph:.+")
_ACCELERATOR = re.compile(r"-(CUDA MANAGED|CUDA|MANAGED|OPENACC|ROCM|CXL)\b")
_INIT = re.compile(r"nprocs: (\d{1,9}), min: (\d{1,18}) ms, max: (\d{1,18}) ms, avg: (\d{1,18}) ms")
_HELLO = re.compile(r"This is a test with (\d{1,9}) processes")


def recognised(text: str) -> bool:
    """Whether a text is one of these."""
    return re.search(r"^# OSU ", text, flags=re.MULTILINE) is not None


def parse(text: str, where: str = "OMB's output") -> tuple[Table, ...]:
    """Every table of a text with the output of one or more runs.

    Parameters
    ----------
    where : how errors call the text, such as its path.

    Raises
    ------
    DataError
        For a line that does not fit, or an end where there must be more; names line, found and wanted.
    """
    lines, tables = Lines(text, where), list[Table]()
    while True:
        start = lines.taken
        while lines.ahead == "":
            lines.take()
        if lines.ahead is None:
            break
        tables += _program(lines, start)
    if not tables:
        raise lines.wrong("a line '# OSU …', as every program of OMB prints first")
    if lines.since(start):
        tables[-1] = replace(tables[-1], closing=(*tables[-1].closing, *lines.since(start)), last=lines.taken)
    return joined(tables)


def _program(lines: Lines, start: int) -> list[Table]:
    """Tables of one program: one, or with ``-T all`` one for each datatype."""
    while lines.ahead is not None and (_BEFORE.fullmatch(lines.ahead) or lines.ahead == ""):
        lines.take()
    found = _TITLE.fullmatch(lines.ahead or "")
    if not found:
        raise lines.wrong("a line '# OSU …', as every program of OMB prints first")
    title, version = found[1], found[2] or ""
    test = TESTS.get(_ACCELERATOR.sub("", title).lower(), "")
    if test == "osu_alltoallw" and any(line.startswith(("Dimensions", "Time took")) for line in lines.since(start)):
        test = "osu_neighbor_alltoallw"
    lines.take()
    if test in ("osu_init", "osu_hello"):
        return [_prose(lines, start, test, title, version)]
    tables, heads = list[Table](), tuple[str, ...]()
    while not tables or (lines.ahead or "").startswith("# Datatype: "):
        columns, parameters = _head(lines, start, first=not tables)
        if parameters.get("Datatype") in [table.parameters.get("Datatype") for table in tables]:
            raise lines.wrong("a line '# OSU …': the datatype is the same as before")
        if tables and columns != heads:
            raise lines.wrong(f"a line '# OSU …' above: other columns than before, {', '.join(heads)}")
        heads = columns
        preamble = lines.since(start)[:-1]
        rows = _matrix(lines, columns) if _MATRIX.fullmatch(columns[0]) else _rows(lines, columns)
        start = lines.taken
        if (lines.ahead or "").startswith("DATA VALIDATION ERROR: "):
            lines.take()
        names = ("Window", "MB/s", "Messages/s") if _MATRIX.fullmatch(columns[0]) else columns
        own = tuple(name for name in names if name != "Size")
        closing, end = lines.since(start), lines.taken
        tables.append(Table(test, title, version, parameters, own, rows, preamble, closing, last=end))
        start = lines.taken
    if lines.ahead and lines.ahead.startswith("#") and not re.match(r"# (?:OSU |Number of )", lines.ahead):
        raise lines.wrong("a row of the table, '# Datatype: …', '# OSU …' or the end")
    return tables


def _prose(lines: Lines, start: int, test: str, title: str, version: str) -> Table:
    """The one line that osu_init and osu_hello print."""
    form, wanted = {
        "osu_init": (_INIT, "'nprocs: N, min: N ms, max: N ms, avg: N ms'"),
        "osu_hello": (_HELLO, "'This is a test with N processes'"),
    }[test]
    found = form.fullmatch(lines.ahead or "")
    if not found:
        raise lines.wrong(wanted)
    preamble, number = lines.since(start), lines.number
    closing, end = (lines.take(),), lines.taken
    if test == "osu_hello":
        return Table(test, title, version, {"processes": found[1]}, (), (), preamble, closing, last=end)
    row = Row(None, tuple(int(text) for text in found.groups()[1:]), line=number)
    columns = ("min (ms)", "max (ms)", "avg (ms)")
    return Table(test, title, version, {"nprocs": found[1]}, columns, (row,), preamble, last=end)


def _head(lines: Lines, start: int, *, first: bool) -> tuple[tuple[str, ...], dict[str, str]]:
    """Columns of a table, with `Size` where it has it, or the head of a matrix; and what stands above."""
    while True:
        ahead = lines.ahead
        if ahead is not None and (_HEAD.fullmatch(ahead) or _MATRIX.fullmatch(ahead)):
            break
        if ahead is None or _TITLE.fullmatch(ahead) or not (ahead == "" or ahead.startswith("# ")):
            raise lines.wrong("the names of the columns, as in '# Size  Avg Latency(us)'")
        if not first and lines.taken > start:
            raise lines.wrong("the names of the columns right below '# Datatype: …'")
        lines.take()
    above = [line for line in lines.since(start) if line]
    parameters = {
        key.strip(): value.strip() for line in above for key, value in re.findall(r"\[ ([^:]+):([^]]+)\]", line)
    }
    for line in above:
        if pair := re.fullmatch(r"(?:# )?([^:=\[]{1,60}?)(?: ?:| =) +(.+?)\.? *", line):
            parameters[pair[1]] = pair[2]
    head = lines.take()
    if _MATRIX.fullmatch(head):
        return (head,), parameters
    names = [found[0] for found in re.finditer(_NAMES, head)]
    return tuple(["Size", *names] if head.startswith("# Size") else names), parameters


def _rows(lines: Lines, columns: Sequence[str]) -> tuple[Row, ...]:
    """Rows below a head; sizes must rise."""
    rows: list[Row] = []
    while lines.ahead and not lines.ahead.startswith(("#", "DATA VALIDATION ERROR: ")):
        fields = lines.ahead.split()
        if len(fields) != len(columns):
            raise lines.wrong(f"a row of {len(columns)} values: {', '.join(columns)}")
        cells = [(field, column) for field, column in zip(fields, columns, strict=True) if column != "Size"]
        values = [lines.value(f, _OTHERS.get(c, TWO_DECIMALS), f"{c} as OMB prints it") for f, c in cells]
        size = _size(lines, fields[0], rows) if columns[0] == "Size" else None
        rows.append(Row(size, tuple(values), line=lines.number))
        lines.take()
        if size is None:
            break
    if not rows:
        raise lines.wrong("a row of the table")
    return tuple(rows)


def _size(lines: Lines, text: str, rows: Sequence[Row]) -> int:
    """The size that begins a row."""
    if not re.fullmatch(WHOLE, text):
        raise lines.wrong(f"a size in bytes instead of {text[:40]!r}")
    last = rows[-1].size if rows else -1
    if last is not None and int(text) <= last:
        raise lines.wrong(f"a size above {last}")
    return int(text)


def _matrix(lines: Lines, head: Sequence[str]) -> tuple[Row, ...]:
    """Rows of ``osu_mbw_mr -V``: two matrices, bandwidth and message rate over size and window."""
    windows = head[0][1:].split()
    columns = ("Size", *windows)
    bandwidths = _rows(lines, columns)
    for wanted in ("", "# Message Rate Profile", head[0]):
        if lines.ahead != wanted:
            raise lines.wrong(f"{wanted!r} and the matrix of message rates")
        lines.take()
    rates = _rows(lines, columns)
    if [row.size for row in rates] != [row.size for row in bandwidths]:
        raise lines.wrong(f"message rates for the sizes {[row.size for row in bandwidths]}")
    return tuple(
        Row(one.size, (int(window), bandwidth, rate), line=one.line)
        for one, other in zip(bandwidths, rates, strict=True)
        for window, bandwidth, rate in zip(windows, one.values, other.values, strict=True)
    )


# ---- values ----------------------------------------------------------------------------------------------------


def reported(table: Table, row: Row) -> list[Reported]:
    """Values of a row under labkit's names.

    Returns
    -------
    Metrics as in `labkit.columns`, and OMB's own: ``init_us``, ``test_us`` and ``wait_us`` of non-blocking collectives
    with -f, ``init_ms``, ``transmit_size_B``. What is not finite is left out.
    """
    pairs, found = table.test in PAIRS and table.test != "osu_init", []
    for column, value in zip(table.columns, row.values, strict=True):
        if not isinstance(value, int | float) or column in ("Iterations", "Window"):
            continue
        if tail := _TAIL.fullmatch(column):
            if value > 0:
                found.append(_percentile(int(tail[1]), tail[2], float(value), pairs))
            continue
        name, unit, statistic = COLUMNS[column]
        plain = statistic or ("mean" if pairs and not TITLES[table.test].startswith("OSU MPI_") else "osu_mean")
        found.append(Reported(name, METRICS[name].unit if name in METRICS else unit, plain, float(value)))
    return found


def _percentile(percent: int, kind: str, value: float, pairs: bool) -> Reported:
    """A percentile of -z, counted from the fast side."""
    if kind.startswith("BW"):
        return Reported("bandwidth_MBps", METRICS["bandwidth_MBps"].unit, f"p{100 - percent}", value)
    return Reported("latency_us", METRICS["latency_us"].unit, f"p{percent}" if pairs else f"osu_p{percent}", value)


# ---- writing ---------------------------------------------------------------------------------------------------


def write(tables: Iterable[Table]) -> str:
    """The text of tables, as OMB lays it out; `parse` gives them back."""
    lines: list[str] = []
    for table in tables:
        lines += table.preamble
        if table.columns[:1] == ("Window",):
            lines += _matrix_lines(table)
        elif table.test == "osu_init":
            low, high, mean = table.rows[0].values
            lines.append(f"nprocs: {table.parameters['nprocs']}, min: {low} ms, max: {high} ms, avg: {mean} ms")
        elif table.columns:
            lines += _table_lines(table)
        lines += table.closing
    return "".join(f"{line}\n" for line in lines)


def _table_lines(table: Table) -> list[str]:
    """Head and rows: the size flushed left, or the first column as wide as its name."""
    widths = [12 if name == "Iterations" else WIDTH for name in table.columns]
    start = f"{'# Size':10}" if table.sized else ""
    if not table.sized:
        widths[0] = len(table.columns[0]) + 2
    names = table.columns if table.sized else (f"# {table.columns[0]}", *table.columns[1:])
    found = [start + "".join(name.rjust(width) for name, width in zip(names, widths, strict=True))]
    if table.test == "osu_latency_mp" and len(widths) == 1:
        widths = [10]
    for row in table.rows:
        start = "" if row.size is None else f"{row.size:<10}"
        found.append(start + "".join(printed(v).rjust(w) for v, w in zip(row.values, widths, strict=True)))
    return found


def _matrix_lines(table: Table) -> list[str]:
    """The two matrices of ``osu_mbw_mr -V``."""
    windows = list(dict.fromkeys(row.values[0] for row in table.rows))
    head = "#      " + "".join(f"  {window:>10}" for window in windows)
    found = [head]
    for place in (1, 2):
        found += ["", "# Message Rate Profile", head] if place == 2 else []
        for at in range(0, len(table.rows), len(windows)):
            line = table.rows[at : at + len(windows)]
            found.append(f"{line[0].size:<7}" + "".join(f"  {printed(row.values[place]):>10}" for row in line))
    return found
