"""IOzone's tables of ``-a -R``: throughput over file size and record size.

IOzone's kB is 1024 B: its ``-n 64k`` is a file of 65536 B, and rates are bytes over time shifted right by 10
(``iozone.c``: ``writerate[j] >>= 10``), so they are whole KiB/s, rounded down. Here they are MB/s of 10^6 B. ``-O``
prints operations per second instead, each of one record, and ``-N`` whole µs for an operation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from labkit.formats import malformed, metric
from labkit.formats.reading.log import CUT, NUMBER, UNTITLED, Lines, Log, Run, setting_name
from labkit.point.columns import METRICS
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 1000.0  # gettimeofday counts whole µs
KIB = 1024
TESTS = {
    "Writer report": "write",
    "Re-writer report": "rewrite",
    "Reader report": "read",
    "Re-Reader report": "reread",
    "Random read report": "random read",
    "Random write report": "random write",
    "Backward read report": "backward read",
    "Record rewrite report": "record rewrite",
    "Stride read report": "stride read",
}
_WHAT = "iozone -R output"


def parse(text: str) -> list[Reported]:
    """Parse every cell of every table.

    Returns
    -------
    ``bandwidth_MBps`` mean, labelled ``test`` (as in `TESTS`), ``file_size_B`` and ``record_size_B``.
    Records longer than their file have no cell. Cells that IOzone skipped, and for which it prints 0, are left out.

    Raises
    ------
    DataError
        If IOzone did not complete, a row does not fit its head, or a table lacks cells.
    """
    lines = text.splitlines()
    if not any("iozone test complete" in line for line in lines):
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise malformed(_WHAT, len(lines), last, "'iozone test complete.'")
    points = [rates for line in lines if (rates := _rates(line))]
    tables = [name for name in TESTS if f'"{name}"' in lines]
    if not points or len(tables) < min(len(points[0]), len(TESTS)):
        raise malformed(_WHAT, len(lines), lines[-1], f"the tables {', '.join(TESTS)}: run iozone with -R -i 0 -i 1")
    cells: list[Reported] = []
    for name in tables:
        table = _table(lines, lines.index(f'"{name}"'), TESTS[name])
        if len(table) != len(points):
            raise malformed(_WHAT, 0, f"{len(table)} cells in the {name}", f"{len(points)}, as were run")
        cells += table
    return cells


def throughput(text: str, test: str) -> list[Reported]:
    """Parse one test of throughput mode (``-t``): the rate of all processes together.

    Parameters
    ----------
    test : as IOzone names it, such as ``initial writers``.

    Returns
    -------
    As `runs` gives the values of such a test.

    Raises
    ------
    DataError
        If IOzone did not complete, or the test was not run.
    """
    lines = text.splitlines()
    if not any("iozone test complete" in line for line in lines):
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise malformed(_WHAT, len(lines), last, "'iozone test complete.'")
    made = [run for run in runs(text, "iozone's output") if run.options["test"] == test]
    if len(made) != 1:
        raise malformed(_WHAT, 0, f"{len(made)} results of {test}", "one: a rate above 0")
    return list(made[0].values)


def _rates(line: str) -> list[int]:
    """Return the rates, in kB/s, of a line that IOzone prints while it runs: file size, record size, a rate a test."""
    match = re.fullmatch(r" +\d+ +\d+((?: +\d+)+) *", line)
    return [int(rate) for rate in match[1].split()] if match else []


def _table(lines: list[str], start: int, test: str) -> list[Reported]:
    """Parse the cells of the table whose name stands in line `start` (from 0)."""
    head = lines[start + 1] if start + 1 < len(lines) else ""
    records = [int(text) * KIB for text in re.findall(r'"(\d{1,18})"', head)]
    if not records or re.sub(r'["\d\s]', "", head):
        raise malformed(_WHAT, start + 2, head, 'record sizes in kB, as in "4" "8"')
    cells = []
    for number, line in enumerate(lines[start + 2 :], start + 3):
        if not line.strip():
            break
        row = re.fullmatch(r'"(\d{1,18})"((?:\s+\d{1,18})+)\s*', line)
        rates = [int(text) for text in row[2].split()] if row else []
        if not row or len(rates) > len(records):
            raise malformed(_WHAT, number, line, f"a file size in quotes and at most {len(records)} rates")
        size = int(row[1]) * KIB
        cells += [
            metric(
                "bandwidth_MBps",
                "mean",
                rate * KIB * 1e-6,
                {"test": test, "file_size_B": size, "record_size_B": record},
            )
            for record, rate in zip(records, rates, strict=False)
            if rate
        ]
    return cells


_BEGINS = re.compile(
    r"\s*(?:Iozone: Performance Test of File I/O|Output is in \S+/sec|Each process writes a \d+ "
    r"| *[kK]B +reclen +write +rewrite +read +reread)"
)
_BANNER = re.compile(r"\s*(?:Iozone: Performance Test of File I/O|(?:Run began|Command line used): )")
_NAMES = (
    *("write", "rewrite", "read", "reread", "random read", "random write", "backward read", "record rewrite"),
    *("stride read", "fwrite", "refwrite", "fread", "refread"),
)
_TABLE = re.compile(r" *(?:kB|KB) +reclen +(write.*)$")
_FIELDS = (  # where a column ends: iozone prints each into a field of 8 to 10 characters
    "write",
    "rewrite",
    "read",
    "reread",
    "read",
    "write",
    "read",
    "rewrite",
    "read",
    "fwrite",
    "frewrite",
    "fread",
    "freread",
)
_ASIDE = 2  # characters from the end of a column
_COLUMNS = 3  # numbers of the shortest row: file size, record size, a rate
_LEAST = 9  # columns of every table
_THROUGHPUT = re.compile(rf"\s*Children see throughput for +(\d{{1,6}}) ([a-z -]+?)\s+= +({NUMBER}) (kB|KB|ops)/sec$")
_BLOCK = 6  # lines of a test of throughput mode after its first, with room for one more
_EACH = r"\s*(Min|Max|Avg) (?:throughput|xfer).* per process\s+= +(\d+\.?\d*) (?:kB|KB)/sec"


def runs(text: str, where: str) -> list[Run]:
    """Return one run per table (`storage.iozone`) or of each test of throughput mode (``-t``).

    Both are printed in kB of 1024 B, or in operations: then each cell of a table is a run. A table needs ``iozone test
    complete.`` A test that did not run leaves its field empty, so a cell belongs to the column name that ends at the
    same place.
    """
    lines, made = Lines(text, where), []
    for first, last in _blocks(lines):
        told = "\n".join(lines.texts[first - 1 : last])
        near = "\n".join(lines.texts[max(0, first - 1 - _ABOVE) : last])
        stated = _stated(lines.texts[first - 1 : last])
        unit = _unit(lines, first, near)
        version = re.search(r"Version \$Revision: (\S+) \$", told)
        options: dict[str, Scalar] = {
            "sync": "SYNC Mode" in told,
            "direct": "O_DIRECT feature enabled" in told,
            "directory": "unknown",
        }
        of_processes = "Children see throughput" in told
        block = _throughput(lines, first, last) if of_processes else _grid(lines, first, last, unit)
        if unit[0] != _RATE and not of_processes:
            block = [_cell(run, value) for run in block for value in run.values]
        if "Output is in" not in near and unit == _UNITS[0][2] and not of_processes:
            block = [replace(run, doubts=(*run.doubts, UNTITLED, _UNIT)) for run in block]
        made += [
            replace(run, options={**options, **run.options}, stated=stated, version=version[1] if version else "")
            for run in block
        ]
    return made


_ABOVE = 3  # lines above a table that may state the unit
_RATE = "bandwidth_MBps"
_PLAIN = "acehopvwxzAEGHIKMNOQRTWZ+"  # flags without a value, which may stand in one word
_UNITS: tuple[tuple[str, str, tuple[str, float]], ...] = (  # words, a flag, metric and factor of the numbers
    (r"Output is in [kK][Bb]ytes/sec", "", (_RATE, KIB * 1e-6)),
    ("OPS Mode", rf"\s-[{_PLAIN}]*O[{_PLAIN}]*(?:\s|$)", ("iops_per_s", 1.0)),
    ("Microseconds?/op", rf"\s-[{_PLAIN}]*N[{_PLAIN}]*(?:\s|$)", ("latency_us", 1.0)),
)
_UNIT = note("unit-assumed", "the table does not name its unit: kB/s is assumed, as without -O and -N")


def _unit(lines: Lines, first: int, near: str) -> tuple[str, float]:
    """Return the metric of the numbers and their factor: kB/s unless the output or the command states another."""
    commands = "\n".join(re.findall(r".*\biozone +-.*", near))
    stated = [unit for words, _, unit in _UNITS if re.search(words, near)]
    stated = stated or [unit for _, flag, unit in _UNITS if flag and re.search(flag, commands)]
    if len(stated) > 1 or (not stated and "Output is in" in near):
        raise lines.wrong(first, "output in kBytes/sec, in operations per second (-O) or in microseconds (-N)")
    return stated[0] if stated else _UNITS[0][2]


def _cell(run: Run, value: Reported) -> Run:
    """Return the run of one cell of a table in operations."""
    labels = dict(value.labels)
    record = int(labels.pop("record_size_B") or 0)
    options: dict[str, Scalar] = {"test": labels["test"], "file_size": labels["file_size_B"]}
    return replace(run, test="IOzone operations", size=record, options=options, values=(replace(value, labels={}),))


def _blocks(lines: Lines) -> list[tuple[int, int]]:
    """Return first and last line of each run: from its banner or its command line on, or from the unit."""
    starts: list[int] = []
    result = True  # whether the last run has one
    for number, line in lines:
        if (_BANNER.match(line) or _BEGINS.match(line)) and result:
            starts.append(number)
            result = False
        result = result or bool(_TABLE.match(line) or _THROUGHPUT.match(line))
    ends = [number - 1 for number in starts[1:]] + [len(lines)]
    return list(zip(starts, ends, strict=False))


_MODE = re.compile(r"\t?([A-Z_][\w /-]+?)(?: (?:set to|of|=) (.+?))?\.?$")
_COMMAND = re.compile(r"\t?Command line used: \S+ (.*)$")


def _stated(texts: list[str]) -> dict[str, str]:
    """Return the modes that IOzone lists after "Run began", and the flags of its command line, without the file."""
    began = next((n for n, line in enumerate(texts) if "Run began:" in line), 0)
    ended = next((n for n, line in enumerate(texts) if re.match(r"\s*(?:Output is in|Time Resol)", line)), len(texts))
    found = {}
    for line in texts[began + 1 : ended]:
        if command := _COMMAND.match(line):
            found["flags"] = re.sub(r" ?-[fFb] \S+", "", command[1])[:200]
        elif mode := _MODE.match(line):
            found[setting_name(mode[1])] = mode[2] or "true"
    return found


def _grid(lines: Lines, first: int, last: int, unit: tuple[str, float]) -> list[Run]:
    """Read the table over file and record size, given metric and factor of its numbers."""
    head, match = lines.need(_TABLE.pattern, first, last, "the head of the table, kB and reclen")
    closed = lines.find(r"\s*iozone test complete", head, last)
    end = closed[0] if closed else last + 1
    line, ends, place = lines.texts[head - 1], list[int](), match.start(1)
    for name in _FIELDS:
        start = line.find(name, place)
        if start < 0 and len(ends) < _LEAST:
            raise lines.wrong(head, f"at least the columns {', '.join(_FIELDS[:_LEAST])}")
        if start < 0:  # a build without the tests of the C library's files
            break
        place = start + len(name)
        ends.append(place)
    grids: list[tuple[int, dict[tuple[int, int], list[Reported]]]] = []
    count, former = 0, head  # numbers in a row; the last line of the table so far
    for number in range(head + 1, end):
        text = lines.texts[number - 1]
        if not text.strip() or not re.fullmatch(r"[ \d]+", text):
            if number == former + 1 and re.match(r" *\d+ +\d", text):
                raise lines.wrong(number, "a row of file size, record size and rates, all whole numbers")
            if grids and text.strip():
                break
            continue
        cells = [(cell.end(), int(cell[0])) for cell in re.finditer(r"\d{1,15}", text)]
        count, former = count or len(cells), number
        if len(cells) != count or len(cells) < _COLUMNS:
            raise lines.wrong(number, f"{max(count, _COLUMNS)} numbers, as the other rows have")
        file, record = cells[0][1] * KIB, cells[1][1] * KIB
        if not grids or (file, record) in grids[-1][1]:  # once more: rows of several runs below one head
            grids.append((number, {}))
        values = grids[-1][1].setdefault((file, record), [])
        for column, rate in _placed(lines, number, cells[2:], ends):
            if rate:
                labels: dict[str, Scalar] = {"test": _NAMES[column], "file_size_B": file, "record_size_B": record}
                values.append(metric(unit[0], "mean", rate * unit[1], labels))
    if not any(values for _, rows in grids for values in rows.values()):
        raise lines.wrong(head, "a row of file size, record size and rates below")
    return [
        Run(
            test="IOzone",
            values=tuple(itertools.chain.from_iterable(rows.values())),
            line=head if len(grids) == 1 else number,
            options=_range(rows),
            doubts=() if closed else (CUT,),
            source=lines.source(head, end),
        )
        for number, rows in grids
    ]


def _range(sizes: Collection[tuple[int, int]]) -> dict[str, Scalar]:
    """Return the least and the greatest size of file and record."""
    files, records = zip(*sizes, strict=True)
    return {
        "min_file_size": min(files),
        "max_file_size": max(files),
        "min_record_size": min(records),
        "max_record_size": max(records),
    }


def _placed(lines: Lines, number: int, cells: list[tuple[int, int]], ends: list[int]) -> Iterator[tuple[int, int]]:
    """Yield column and rate of each cell of a row, given where cells and columns end.

    A row with every column has them in their order. Otherwise a cell ends where its column does.
    """
    for place, (stop, rate) in enumerate(cells):
        column = place if len(cells) == len(ends) else min(range(len(ends)), key=lambda k: abs(ends[k] - stop))
        if len(cells) != len(ends) and abs(ends[column] - stop) > _ASIDE:
            raise lines.wrong(number, "each rate below the end of its column's name, as IOzone prints it")
        yield column, rate


def _each(lines: Lines, first: int, last: int) -> tuple[int, int]:
    """Return the size of each process's file and of a record, B; 0 if the log does not state it."""
    sizes = []
    for pattern, place in ((r"\s*File size set to (\d{1,15}) [kK]B", 1), (r"\s*Record Size (\d{1,12}) [kK]B", 2)):
        hit = lines.find(pattern, first, last)
        both = lines.find(
            r"\s*Each \w+ writes a (\d{1,15}) [kK][Bb]yte file in (\d{1,12}) [kK][Bb]yte records", first, last
        )
        sizes.append(KIB * int(hit[1][1] if hit else both[1][place] if both else 0))
    return sizes[0], sizes[1]


def _throughput(lines: Lines, first: int, last: int) -> list[Run]:
    """Read the tests of throughput mode."""
    file, record = _each(lines, first, last)
    made = []
    for number in range(first, last + 1):
        row = _THROUGHPUT.match(lines.texts[number - 1])
        if not row:
            if re.match(r"\s*Children\b", lines.texts[number - 1]):
                raise lines.wrong(number, "'Children see throughput for', processes, test, and kB/sec or ops/sec")
            continue
        lines.need(r"\s*Min xfer ", number, min(number + _BLOCK, last), "'Min xfer', the last line of the test,")
        rate = lines.number(row[3], number)
        name, factor = ("iops_per_s", 1.0) if row[4] == "ops" else (_RATE, KIB * 1e-6)
        values = [metric(name, "mean", rate * factor)] if rate > 0 else []
        below = min(number + 1, last)
        if parent := lines.find(rf"\s*Parent sees throughput for .*= +({NUMBER}) {row[4]}/sec", number, below):
            value = lines.number(parent[1][1], parent[0]) * factor
            values.append(Reported(f"parent_{name}", METRICS[name].unit, "mean", value))
        elif "Parent sees" in lines.texts[below - 1]:
            raise lines.wrong(below, f"a number of {row[4]}/sec with a decimal point")
        if values:
            options: dict[str, Scalar] = {
                "test": row[2],
                "file_size": file,
                "processes": int(row[1]),
            }
            test = "IOzone throughput" if name == _RATE else "IOzone operations"
            run = Run(test=test, values=tuple(values), line=number, options=options)
            made.append(replace(run, size=record, source=lines.source(number, min(number + 5, last))))
    return made


LOG = Log("IOzone", ("Iozone: Performance Test", "Output is in ", "Each process writes a ", " reclen "), _BEGINS, runs)
