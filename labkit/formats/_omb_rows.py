"""Read the rows below the heads that the OSU micro-benchmarks print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import lt

from labkit.formats import malformed
from labkit.formats._lines import is_damaged_row, is_row
from labkit.formats._table import TWO_DECIMALS, WHOLE, Lines, Row, bulk

ENDLESS = 1 << 62  # rows
FORMS = {"Iterations": WHOLE, "Validation": "Pass|Fail", "Transmit Size": WHOLE, "Window": WHOLE, "Size": WHOLE}
MATRIX = re.compile(r"# +\d+(?: +\d+)*")
INVALID = "DATA VALIDATION ERROR: "
STARTS = ("nprocs: ", "This is a test with ", "Dimensions size = ", "Time took to create topology graph:", INVALID)


def rows(lines: Lines, columns: Sequence[str], head: str, most: int) -> Iterator[tuple[Row, ...]]:
    """Yield the rows below a head, part by part; sizes must rise. Takes the line that closes the table too."""
    forms = [FORMS.get(column, TWO_DECIMALS) for column in columns]
    last, count = -1, 0
    while True:
        part = bulk(lines, columns, forms, "Size", most) if columns[0] == "Size" else []
        while len(part) < most and _row_follows(lines, columns, head, count + len(part)):
            part.append(_row(lines, columns, forms, head))
        last = _risen(lines, part, last)
        count += len(part)
        if part:
            yield tuple(part)
        if len(part) < most:  # what follows is no row
            break
    if not count:
        raise lines.wrong("a row of the table")
    if (lines.ahead or "").startswith(INVALID):
        lines.take()


def _row_follows(lines: Lines, columns: Sequence[str], head: str, before: int) -> bool:
    """Whether there is another row; a table without sizes has one row."""
    sized = columns[0] == "Size"
    if not sized and before:
        return False
    return lines.row_follows(
        lambda line: line.startswith("#") and line == head.rstrip() and not MATRIX.fullmatch(line),
        lambda line: line.startswith(("#", *STARTS)),
        lambda line: not sized or is_row(line) or is_damaged_row(line, len(columns)),
    )


def _row(lines: Lines, columns: Sequence[str], forms: Sequence[str], head: str) -> Row:
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


def _risen(lines: Lines, rows: Sequence[Row], last: int) -> int:
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


def matrix_rows(lines: Lines, head: Sequence[str]) -> Iterator[tuple[Row, ...]]:
    """Rows of ``osu_mbw_mr -V``: two matrices, bandwidth and message rate over size and window."""
    windows = head[0][1:].split()
    columns = ("Size", *windows)
    (bandwidths,) = rows(lines, columns, head[0], ENDLESS)
    for wanted in ("", "# Message Rate Profile", head[0]):
        if lines.ahead != wanted:
            raise lines.wrong(f"{wanted!r} and the matrix of message rates")
        lines.take()
    (rates,) = rows(lines, columns, head[0], ENDLESS)
    if [row.size for row in rates] != [row.size for row in bandwidths]:
        raise lines.wrong(f"message rates for the sizes {[row.size for row in bandwidths]}")
    yield tuple(
        Row(row.size, (int(window), bandwidth, rate), line=row.line, text=row.text)
        for row, rate_row in zip(bandwidths, rates, strict=True)
        for window, bandwidth, rate in zip(windows, row.values, rate_row.values, strict=True)
    )
