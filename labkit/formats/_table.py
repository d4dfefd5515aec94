"""A table of numbers below a head: what the texts of the OSU and the Intel benchmarks have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from labkit.errors import DataError
from labkit.formats import malformed

Value = float | int | str | None
WHOLE, TWO_DECIMALS, NO_NUMBER = r"\d{1,18}", r"\d{1,18}\.\d\d", r"-?(?:nan|inf)"


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Parameters
    ----------
    size : of a message, B; None in a table without sizes.
    values : in the order of the table's columns, in the program's units; None for what is not finite.
    remark : what stands in place of the values where the program could not measure.
    line : where it stands in the text, from 1.
    """

    size: int | None
    values: tuple[Value, ...]
    remark: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Table:
    """What one test printed.

    Parameters
    ----------
    test : name of the program and of the test in it: ``osu_latency``, ``IMB-MPI1 PingPong``; empty where the title is
        none that is known.
    title : as printed.
    version : of the benchmarks, empty where it is not printed.
    parameters : what the lines above the table tell: ``Datatype``, ``#processes``…
    columns : names as printed, without that of the size.
    rows : in the order of the text.
    preamble, closing : the lines above its head and below its rows that belong to it.
    first, last : its lines in the text, from 1; the tables of a text leave none out.
    """

    test: str
    title: str
    version: str
    parameters: Mapping[str, str]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    preamble: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    first: int = field(default=0, compare=False)
    last: int = field(default=0, compare=False)

    @property
    def sized(self) -> bool:
        """Whether its rows have sizes."""
        return any(row.size is not None for row in self.rows)

    def value(self, row: Row, column: str) -> Value:
        """What a row has in a column; None where there is no such column, or nothing in it."""
        return dict(zip(self.columns, row.values, strict=False)).get(column)


class Lines:
    """Lines of a text, taken one by one.

    Parameters
    ----------
    text : must end with the end of a line: else it was cut off.
    where : how errors call it, such as its path.
    """

    def __init__(self, text: str, where: str) -> None:
        *lines, rest = text.split("\n")
        self._lines, self._where, self.taken = [line.removesuffix("\r") for line in lines], where, 0
        if rest:
            raise malformed(where, len(lines) + 1, rest, "an end of line: the text was cut off there")

    @property
    def ahead(self) -> str | None:
        """The next line; None at the end."""
        return self._lines[self.taken] if self.taken < len(self._lines) else None

    @property
    def number(self) -> int:
        """Number of the next line, from 1."""
        return self.taken + 1

    def take(self) -> str:
        """The next line, which there must be."""
        line = self._lines[self.taken]
        self.taken += 1
        return line

    def since(self, start: int) -> tuple[str, ...]:
        """Lines taken since `taken` was `start`."""
        return tuple(self._lines[start : self.taken])

    def wrong(self, wanted: str) -> DataError:
        """Error for the next line, or for the end."""
        return malformed(self._where, self.number, "the end of the text" if self.ahead is None else self.ahead, wanted)

    def value(self, text: str, form: str, wanted: str) -> Value:
        """A number in a row; what is not finite is None. The row must not be taken yet."""
        if re.fullmatch(NO_NUMBER, text):
            return None
        if not re.fullmatch(form, text):
            raise self.wrong(f"{wanted} instead of {text[:40]!r}")
        return int(text) if form == WHOLE else float(text) if form == TWO_DECIMALS else text


def printed(value: Value) -> str:
    """A value as both print it: two decimals, or none for a whole number."""
    return "nan" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def joined(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Tables of a text that know their `last` line, each beginning where the one before ended."""
    found: list[Table] = []
    for table in tables:
        found.append(replace(table, first=found[-1].last + 1 if found else 1))
    return tuple(found)
