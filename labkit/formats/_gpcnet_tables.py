"""Tables of GPCNeT without the lines above them, which name ranks and nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit.formats.reading.log import Lines

TITLE = re.compile(r"\| +(Isolated Network Tests|Network Tests running with Congestion Tests) +\|$")
_COLUMNS = ["Name", "Avg", "99%", "Units"]
_UNITS = ("usec", "MiB/s/rank")


def rows(lines: Lines) -> Iterator[tuple[int, str, list[str]]]:
    """Yield line, load and cells of each row of the two tables; the impact factors follow from them."""
    load = ""
    for number, line in lines:
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if title := TITLE.match(line):
            load = "isolated" if title[1].startswith("Isolated") else "loaded"
        elif len(cells) == 1:  # the title of another table
            load = ""
        elif load and cells[0] == "Name" and cells != _COLUMNS:
            raise lines.wrong(number, f"the columns {', '.join(_COLUMNS)}; GPCNeT built with VERBOSE is not read")
        elif load and cells[0] != "Name":
            if len(cells) != len(_COLUMNS) or cells[3] not in _UNITS or not float(lines.number(cells[1], number)) > 0:
                raise lines.wrong(number, f"name, average above 0, 99 % and {' or '.join(_UNITS)}")
            yield number, load, cells
