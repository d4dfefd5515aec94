"""JUBE's result tables: styles pretty, csv and aligned.

JUBE writes a column with a unit as ``time[s]``. Such columns are values, each under its own name and unit, because
only the author of the table knows what they mean. All other columns are settings of their row. A table without a unit
is refused: it does not show what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from labkit.formats import malformed
from labkit.formats.reading.log import NUMBER, Lines, Log, Run, setting_name
from labkit.point.spec import Reported, Scalar

_CELL = r"[^,;|:=\n]{0,80}"
_UNIT = r"[^,;|:=\[\]\n]{0,80}\w\[[^,;|\[\]\n]{1,40}\]"
_BEGINS = re.compile(  # the name of a pretty table and its head; the first line of one in csv
    rf"\S[^|\n]*:\n\|(?:[^\n|]*\|)* *{_UNIT} *\|[^\n]*\n\|-[-|]*-\|$|"
    rf"\A(?=[^\n]*[,;])(?:{_CELL}[,;])*{_UNIT} *(?:[,;]{_CELL})*$"
)
_RULE = re.compile(r"\|-[-|]*-\|$")
_COLUMN = re.compile(r"(.*\S)\[([^\[\]]{1,40})\]$")
_NUMBER = re.compile(rf"{NUMBER}(?<![a-z])")  # not nan and inf
_REMEDY = 'Give the columns with results a unit in JUBE, such as <key unit="s">time</key>.'


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each row that has a value."""
    lines = Lines(text, where)
    rules = [number for number, line in lines if number > 1 and _RULE.match(line)]
    made: list[Run] = []
    for rule in rules:
        last = next(
            (n for n in range(rule + 1, len(lines) + 1) if not lines.texts[n - 1].startswith("|")), len(lines) + 1
        )
        above = lines.texts[rule - 3] if rule > 2 else ""
        made += _table(lines, above[:-1] if above.endswith(":") else "", rule - 1, range(rule + 1, last), "|")
    if not rules and len(lines):
        rows = [number for number, line in lines if number > 1 and line]
        made = _table(lines, "", 1, rows, ";" if ";" in lines.texts[0] else ",")
    if not made:
        found = lines.texts[0] if len(lines) else "nothing"
        raise malformed(where, 0, found, "a table with a column such as time[s]", _REMEDY)
    return made


def _cells(line: str, separator: str) -> list[str]:
    """Return the cells of a row; a pretty table has a separator at both ends."""
    return [cell.strip() for cell in (line.strip()[1:-1] if separator == "|" else line).split(separator)]


def _table(lines: Lines, name: str, head: int, rows: Iterable[int], separator: str) -> list[Run]:
    """Make the runs of a table, from the line of its head and those of its rows."""
    heads = _cells(lines.texts[head - 1], separator)
    columns = [_COLUMN.match(one) for one in heads]
    made = []
    for number in rows:
        cells = _cells(lines.texts[number - 1], separator)
        if len(cells) != len(heads):
            raise lines.wrong(number, f"{len(heads)} cells, as in the head of the table")
        options: dict[str, Scalar] = {"table": name} if name else {}
        values = []
        for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
            if not column:
                options[setting_name(heads[place]) or f"column_{place + 1}"] = cell
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
