"""JUBE's result tables: styles pretty, csv and aligned.

JUBE writes a column with a unit as ``time[s]``. Such columns are values, each under its own name and unit, because
only the author of the table knows what they mean. All other columns are settings of their row. A table without a unit
is refused: it does not show what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import partial
from itertools import takewhile

from labkit.formats import malformed
from labkit.formats.reading.log import NUMBER, ODD_NUMBER, Lines, Log, Run, setting_name
from labkit.point.spec import Reported, Scalar

_CELL = r"[^,;|:=\n]{0,80}"
_UNIT = r"[^,;|:=\[\]\n]{0,80}\w\[[^,;|\[\]\n]{1,40}\]"
_CSV = rf"(?=[^\n]*[,;])(?:{_CELL}[,;])*{_UNIT} *(?:[,;]{_CELL})*$"
_BEGINS = re.compile(  # the name of a pretty table and its head; one in csv at the begin of the text, or of a fence
    rf"\S[^|\n]*:\n\|(?:[^\n|]*\|)* *{_UNIT} *\|[^\n]*\n\|-[-|]*-\|$|(?:\A|(?<=```\n)){_CSV}"
)
_HEAD = re.compile(_CSV)
_RULE = re.compile(r"\|-[-|]*-\|$")
_COLUMN = re.compile(r"(.*\S)\[([^\[\]]{1,40})\]$")
_NUMBER = re.compile(rf"{NUMBER}(?<![a-z])")  # not nan and inf
_REMEDY = 'Give the columns with results a unit in JUBE, such as <key unit="s">time</key>.'


def runs(text: str, where: str) -> list[Run]:
    """Return one run per row that has a value."""
    lines = Lines(text, where)
    heads = {number - 1: "|" for number, line in lines if number > 1 and _RULE.match(line)}
    heads |= {number: ";" if ";" in line else "," for number, line in lines if _HEAD.match(line)}
    made: list[Run] = []
    for head, separator in sorted(heads.items()):
        pretty = separator == "|"
        above = lines.texts[head - 2] if pretty and head > 1 else ""
        rows = list(takewhile(partial(_is_row, lines, pretty, heads), range(head + 1 + pretty, len(lines) + 1)))
        made += _table(lines, above[:-1] if above.endswith(":") else "", head, rows, separator)
    if not made:
        found = lines.texts[0] if len(lines) else "nothing"
        raise malformed(where, 0, found, "a table with a column such as time[s]", _REMEDY)
    return made


def _is_row(lines: Lines, pretty: bool, heads: Collection[int], number: int) -> bool:
    line = lines.texts[number - 1]
    return line.startswith("|") if pretty else bool(line) and number not in heads


def _cells(line: str, separator: str) -> list[str]:
    """Return the cells of a row; a pretty table has a separator at both ends."""
    return [cell.strip() for cell in (line.strip()[1:-1] if separator == "|" else line).split(separator)]


def _table(lines: Lines, name: str, head: int, rows: Iterable[int], separator: str) -> list[Run]:
    """Make the runs of a table from the line of its head and the lines of its rows."""
    heads = _cells(lines.texts[head - 1], separator)
    columns = [_COLUMN.match(one) for one in heads]
    made = []
    for number in rows:
        if separator == "|" and not lines.texts[number - 1].endswith("|"):
            raise lines.wrong(number, "a row that ends with |: the table is cut")
        cells = _cells(lines.texts[number - 1], separator)
        if len(cells) != len(heads):
            raise lines.wrong(number, f"{len(heads)} cells, as in the head of the table")
        options: dict[str, Scalar] = {"table": name} if name else {}
        values = []
        for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
            if not column:
                options[setting_name(heads[place]) or f"column_{place + 1}"] = cell
            elif ODD_NUMBER.fullmatch(cell):
                raise lines.wrong(number, f"a number with a decimal point instead of {cell[:40]!r}")
            elif _NUMBER.fullmatch(cell):
                values.append(Reported(column[1][:100], column[2], "value", lines.number(cell, number)))
        if values:
            made.append(
                Run(
                    test="JUBE", values=tuple(values), line=number, options=options, source=lines.source(number, number)
                )
            )
    return made


LOG = Log("JUBE", ("-|\n", "],", "];", "]\n"), _BEGINS, runs)
