"""Trace of a PCI Express analyzer, exported as comma-separated values: one packet a line.

Analyzers name and order columns as their user chose. Columns are found by the names in `COLUMNS`, whatever their order;
others are ignored. Lines above the head are skipped. Length counts data words of 4 B, as in the header of a packet:
the ``(64)`` of ``MWr(64)`` is the width of its address.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, cast

from labkit.errors import DataError
from labkit.formats import malformed

CLOCK_NS = 0.1  # prints seconds with ten decimals
COLUMNS = ("Time Stamp", "Direction", "Type", "Length", "Sequence")
_DIRECTIONS = ("downstream", "upstream")
_WANTED = f"a head with the columns {', '.join(COLUMNS)}"
_STAMP = re.compile(r"(\d[\d ]*(?:\.[\d ]*\d)?) ?(s|ms|us|µs|ns)")
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_WORD_B = 4
REMEDY = "Export the trace with these columns, one packet a line."


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that passed the analyzer.

    Parameters
    ----------
    line : where it stands in the file, from 1.
    time_ns : when the analyzer saw it, ns after the first packet.
    direction : ``downstream``, from the processor to the adapter, or ``upstream``.
    kind : kind of the packet, without the width of its address: ``MWr``, ``MRd``, ``CplD``, ``Ack``.
    size : size of its data, B.
    sequence : its number, or of an acknowledgement the last number that it covers; -1 where the trace has none.
    """

    line: int
    time_ns: float
    direction: Literal["downstream", "upstream"]
    kind: str
    size: int
    sequence: int


def packets(text: str, where: str) -> list[Packet]:
    r"""Return the packets of a trace, in its order.

    Parameters
    ----------
    text : text of the file.
    where : name of the file, for errors.

    Raises
    ------
    DataError
        If there is no head with all `COLUMNS`, no packet, or a cell that is not what its column holds; names file and
        line.

    Examples
    --------
    >>> head, packet = "Time Stamp,Direction,Type,Length,Sequence", "0001.429 405 854 2 s,downstream,MWr(64),16,3645"
    >>> packets(f"{head}\n{packet}\n", "put_bw.csv")[0].size
    64
    """
    rows = csv.reader(text.splitlines())
    places, made, first = _places(rows, where), list[Packet](), None
    for cells in rows:
        if not any(cell.strip() for cell in cells):
            continue
        row = _Row(where, rows.line_num, cells, places)
        stamp = row.stamp()
        first = stamp if first is None else first
        packet = row.packet(float(stamp - first))
        if made and packet.time_ns < made[-1].time_ns:
            raise row.wrong("Time Stamp", "a time at or after that of the line above: sort the trace by time")
        made.append(packet)
    if not made:
        raise malformed(where, rows.line_num, "the end of the file", "a packet below the head", REMEDY)
    return made


def _places(rows: Iterator[list[str]], where: str) -> dict[str, int]:
    """Return the place of each column; leave the lines below the head."""
    first = ""
    for cells in rows:
        names = [cell.strip().lower() for cell in cells]
        if {column.lower() for column in COLUMNS} <= set(names):
            return {column: names.index(column.lower()) for column in COLUMNS}
        first = first or ",".join(cells)
    raise malformed(where, 1, first or "an empty file", _WANTED, REMEDY)


class _Row:
    """A line below the head."""

    def __init__(self, where: str, line: int, cells: Sequence[str], places: dict[str, int]) -> None:
        self.where, self.line = where, line
        if len(cells) <= max(places.values()):
            raise malformed(where, line, ",".join(cells), f"a cell in each of the columns {', '.join(COLUMNS)}", REMEDY)
        self.cells = {column: cells[place].strip() for column, place in places.items()}

    def wrong(self, column: str, wanted: str) -> DataError:
        """Return the error for a cell."""
        return malformed(self.where, self.line, self.cells[column], f"in column {column} {wanted}", REMEDY)

    def stamp(self) -> Decimal:
        """Time stamp, ns."""
        found = _STAMP.fullmatch(self.cells["Time Stamp"])
        if not found:
            raise self.wrong("Time Stamp", "a time with its unit, such as 0001.429 405 854 2 s")
        return Decimal(found[1].replace(" ", "")) * _NS[found[2]]

    def count(self, column: str, empty: int) -> int:
        """Whole number in a column, or what an empty cell stands for."""
        text = self.cells[column]
        if text and not re.fullmatch(r"\d{1,9}", text):
            raise self.wrong(column, "a whole number, or nothing")
        return int(text) if text else empty

    def packet(self, time_ns: float) -> Packet:
        """Return the packet of the line."""
        direction, kind = self.cells["Direction"].lower(), self.cells["Type"].partition("(")[0].strip()
        if direction not in _DIRECTIONS:
            raise self.wrong("Direction", " or ".join(_DIRECTIONS))
        if not kind:
            raise self.wrong("Type", "the kind of packet, such as MWr(64) or Ack")
        return Packet(
            self.line,
            time_ns,
            cast(Literal["downstream", "upstream"], direction),
            kind,
            _WORD_B * self.count("Length", 0),
            self.count("Sequence", -1),
        )
