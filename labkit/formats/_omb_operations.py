"""Tables of osu_oshm_atomics: operations where OMB's other tables have sizes; a row has the size of its type here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit.formats.reading.lines import TWO_DECIMALS, Lines
from labkit.formats.reading.omb_names import ATOMICS, OSHM_WIDTH
from labkit.formats.reading.table import Row, Table, printed

_OPERATION = re.compile(rf"shmem_(int|longlong)_({'|'.join(ATOMICS)})")
_TYPES = {"int": 4, "longlong": 8}  # B


def rows(lines: Lines, ends: tuple[str, ...]) -> Iterator[tuple[Row, ...]]:
    """Yield the rows of ``osu_oshm_atomics``: an operation, its rate and its latency.

    Parameters
    ----------
    ends : what a line begins with that belongs to no row.

    Raises
    ------
    DataError
        If a line is damaged, an operation comes twice, or there is none.
    """
    found: list[Row] = []
    while lines.row_follows(
        lambda line: False,
        lambda line: line.startswith(ends),
        lambda line: line.startswith("shmem_"),
    ):
        text, number = lines.ahead or "", lines.number
        name, *fields = text.split()
        operation = _OPERATION.fullmatch(name)
        if operation is None or len(fields) != 2:
            raise lines.wrong("an operation, its rate and its latency, as in 'shmem_int_fadd 1.25 0.80'")
        size, call = _TYPES[operation[1]], ATOMICS[operation[2]]
        if any((row.size, row.values[0]) == (size, call) for row in found):
            raise lines.wrong("another operation: two runs may have written to this file, use one file per run")
        rate, latency = (lines.value(field, TWO_DECIMALS, "a number as OMB prints it") for field in fields)
        lines.take()
        found.append(Row(size, (call, rate, latency), line=number, text=text))
    if not found:
        raise lines.wrong("a row of the table")
    yield tuple(found)


def written(table: Table) -> list[str]:
    """Return head and rows of ``osu_oshm_atomics``."""
    types, calls = ({value: name for name, value in names.items()} for names in (_TYPES, ATOMICS))
    lines = [f"{'# Operation':{OSHM_WIDTH}}" + "".join(name.rjust(OSHM_WIDTH) for name in table.columns[1:])]
    for row in table.rows:
        name = f"shmem_{types[row.size or 0]}_{calls[str(row.values[0])]}"
        lines.append(f"{name:{OSHM_WIDTH}}" + "".join(printed(value).rjust(OSHM_WIDTH) for value in row.values[1:]))
    return lines
