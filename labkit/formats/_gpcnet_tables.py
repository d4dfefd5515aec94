"""Rows of GPCNeT's tables, of both builds, and the tables without the lines above them, which name ranks and nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from labkit.formats.reading.log import Lines

ISOLATED, CONGESTORS = "Isolated Network Tests", "Isolated Congestion Tests"
LOADED = "Network Tests running with Congestion Tests"
# a build with VERBOSE has a table of the congestors alone, and one for each network test that runs beside them
TITLE = re.compile(rf"\| +({ISOLATED}|{CONGESTORS}|{LOADED})(?: \( *(\S.*) Network Test\))? +\|$")
COLUMNS = ["Name", "Avg", "99%", "Units"]
VERBOSE = ["Name", "Min", "Max", "Avg", "Avg(Worst)", "99%", "99.9%", "Units"]
NUMBER = re.compile(r"(?:-?\d{1,12}\.\d|-?nan|-?inf)")
UNITS = ("usec", "MiB/s/rank")
WANTED = f"the columns {', '.join(COLUMNS)}, or those of VERBOSE, {', '.join(VERBOSE)}"


def named(cells: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row by column; empty if they are none: numbers with one decimal and a unit."""
    if len(cells) != len(columns) or cells[-1] not in UNITS or not all(map(NUMBER.fullmatch, cells[1:-1])):
        return {}
    return dict(zip(columns, cells, strict=True))


def rows(lines: Lines) -> Iterator[tuple[int, str, str, dict[str, str]]]:
    """Yield line, load, network test and cells of each row; the impact factors follow from them."""
    load, test, columns = "", "", COLUMNS
    for number, line in lines:
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if title := TITLE.match(line):
            load, test = "loaded" if title[1] == LOADED else "isolated", title[2] or ""
        elif len(cells) == 1:  # the title of another table
            load = ""
        elif load and cells[0] == "Name":
            if cells not in (COLUMNS, VERBOSE):
                raise lines.wrong(number, WANTED)
            columns = cells
        elif load:
            if not (row := named(cells, columns)) or not float(lines.number(row["Avg"], number)) > 0:
                raise lines.wrong(number, f"name, average above 0, 99 % and {' or '.join(UNITS)}")
            yield number, load, test, row
