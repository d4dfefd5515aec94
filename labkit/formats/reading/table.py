"""A table of numbers below a head, as both the OSU and the Intel benchmarks print it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat

from labkit.formats.reading.lines import Lines, Value, block_form, converter
from labkit.formats.reading.values import CutError


@dataclass(slots=True)
class Row:
    """One line of a table.

    Parameters
    ----------
    size : size of a message, B; None in a table without sizes.
    values : in the order of the table's columns, in the program's units; None for what is not finite.
    remark : text instead of values, if the program could not measure.
    line : where it stands in the text, from 1.
    text : as it stands there.
    """

    size: int | None
    values: tuple[Value, ...]
    remark: str = ""
    line: int = field(default=0, compare=False)
    text: str = field(default="", compare=False)


@dataclass(frozen=True)
class Meaning:
    """Content of a column.

    Parameters
    ----------
    place : place of the column.
    name, unit, statistic : as in `labkit.point.spec.Reported`.
    factor : from the printed number to `unit`.
    above_zero : whether 0 represents no value.
    sized : whether a row of size 0 has none.
    """

    place: int
    name: str
    unit: str
    statistic: str
    factor: float = 1.0
    above_zero: bool = False
    sized: bool = False

    def value(self, row: Row) -> float | None:
        """The value of a row in `unit`; None without one."""
        given = row.values[self.place] if self.place < len(row.values) else None
        if not isinstance(given, int | float) or (self.above_zero and given <= 0) or (self.sized and row.size == 0):
            return None
        return float(given) * self.factor


@dataclass(frozen=True)
class Table:
    """Output of one test.

    Parameters
    ----------
    test : name of the program and of the test in it: ``osu_latency``, ``IMB-MPI1 PingPong``; empty if the title is
        none that is known.
    title : as printed.
    version : version of the benchmarks, empty if it is not printed.
    parameters : facts in the lines above the table: ``Datatype``, ``#processes``…
    columns : names as printed, without that of the size.
    rows : in the order of the text.
    preamble, closing : the lines above its head and below its rows that belong to it.
    head : the line with the names of the columns.
    first, last : its lines in the text, from 1; the tables of a text leave none out.
    lines : those of the text, untouched; empty if the table is long.
    """

    test: str
    title: str
    version: str
    parameters: Mapping[str, str]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    preamble: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    head: str = field(default="", compare=False)
    first: int = field(default=0, compare=False)
    last: int = field(default=0, compare=False)
    lines: tuple[str, ...] = field(default=(), compare=False)

    @property
    def sized(self) -> bool:
        """Whether its rows have sizes."""
        return any(row.size is not None for row in self.rows)

    def part(
        self, rows: tuple[Row, ...], first: int, last: int, closing: tuple[str, ...] = (), lines: tuple[str, ...] = ()
    ) -> Table:
        """Return this table with other rows; quicker than `dataclasses.replace`, for a long text has many tables."""
        description = self.test, self.title, self.version, self.parameters, self.columns
        return Table(*description, rows, self.preamble, closing, self.head, first, last, lines)

    def value(self, row: Row, column: str) -> Value:
        """Value of a row in a column; None if the column is missing or empty."""
        return dict(zip(self.columns, row.values, strict=False)).get(column)


def bulk(lines: Lines, columns: Sequence[str], forms: Sequence[str], size: str, most: int) -> list[Row]:
    """Read at most `most` further rows while they fit; `size` is the column of the size."""
    first, texts, cells = lines.bulk(block_form(tuple(forms)), most)
    if not texts:
        return []
    many, place = len(columns), columns.index(size) if size in columns else -1
    sizes = map(int, cells[place::many]) if place >= 0 else repeat(None)
    values = zip(*[map(converter(form), cells[i::many]) for i, form in enumerate(forms) if i != place], strict=True)
    return [*map(Row, sizes, values, repeat(""), count(first), texts)]


def unless_cut(lines: Lines, take: Callable[[], Row], *, above: bool) -> list[Row]:
    """Take the row ahead, or leave it out if the text was cut in it and the table has rows above it."""
    try:
        return [take()]
    except CutError as error:
        if not above:
            raise
        lines.left_out(error)
        return []


def in_parts(table: Table, parts: Iterator[tuple[Row, ...]], lines: Lines) -> Iterator[Table]:
    """Yield the table with all its rows, or a table for each part of them; the last one has the lines below them."""
    waiting, whole, above, last = (), True, 0, 0  # type: tuple[Row, ...], bool, int, int
    for number, rows in enumerate(parts):
        if number:
            yield table.part(waiting, lines.first, last)
        waiting, whole, above, last = rows, not number, len(lines.table_lines), lines.taken
    texts = tuple(lines.table_lines) if whole else ()
    yield table.part(waiting, lines.first, lines.taken, tuple(lines.table_lines[above:]), texts)
    lines.mark()


def printed(value: Value) -> str:
    """Return a value as OMB and IMB print it: two decimals, or none for a whole number."""
    if value is None:
        return "nan"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
