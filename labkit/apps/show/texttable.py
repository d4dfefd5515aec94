"""Tables of text that fit the terminal: cells wrap; if that does not suffice, each row becomes a block of lines."""

from __future__ import annotations

import operator
import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import zip_longest

# spaces between columns, and how long a word of a head and of a cell must be before it may be broken
_LAYOUTS = ((2, 1000, 1000), (1, 6, 16))
_TO_FILE = ContextVar("_TO_FILE", default=False)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Return a table that is as wide as its content, or as the terminal if that is narrower.

    Parameters
    ----------
    head : head of the columns.
    rows : cells of each row.
    right : columns that are flushed right, those of numbers; only the words of their heads wrap.
    """
    limit = columns()
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    for gap, *words in _LAYOUTS:
        if widths := _widths(cells, right, limit, gap, *words):
            parts = [_lines(row, widths, right, gap * " ") for row in cells]
            parts.insert(1, [(gap * " ").join("-" * width for width in widths)])
            return "\n".join(line for part in parts for line in part)
    return _blocks(cells, limit)


def columns() -> int:
    """Return how many characters a line may have; 0 for any number: in a file and in a pipe.

    ``COLUMNS`` in the environment decides, else the terminal.
    """
    if _TO_FILE.get():
        return 0
    if re.fullmatch("[1-9][0-9]{0,5}", asked := os.environ.get("COLUMNS", "")):
        return int(asked)
    with suppress(OSError, ValueError):  # no terminal; shutil asks the first stdout of Python, which labkit replaces
        return os.get_terminal_size(sys.stdout.fileno()).columns
    return 0


@contextmanager
def to_file(writes: bool = True) -> Iterator[None]:
    """Make tables as wide as their content in this context, because they go to a file."""
    before = _TO_FILE.set(writes)
    try:
        yield
    finally:
        _TO_FILE.reset(before)


def paragraph(text: str) -> str:
    """Return a text in lines that fit the terminal."""
    limit = columns()
    return textwrap.fill(text, limit, break_long_words=False, break_on_hyphens=False) if limit else text


def _widths(
    cells: Sequence[Sequence[str]], right: Collection[int], limit: int, gap: int, head_word: int, cell_word: int
) -> list[int]:
    """Return the width of each column; nothing if they do not fit however they wrap."""
    each = [*zip(*cells, strict=True)]
    widths = [max(map(len, column)) for column in each]
    if not limit:
        return widths
    spare = limit - gap * (len(widths) - 1)
    least = [
        max(
            max(map(len, column[1:]), default=0) if place in right else min(_word(column[1:]), cell_word),
            min(_word(column[:1]), head_word),
        )
        for place, column in enumerate(each)
    ]
    if sum(least) > spare:
        return []
    whole = [max(low, _word(column)) for low, column in zip(least, each, strict=True)]
    while sum(widths) > spare:  # words break last, names in the first column last of all
        above = [n for n, width in enumerate(widths) if width > whole[n]]
        narrow = (
            max(above, key=lambda n: widths[n])
            if above
            else max(n for n, width in enumerate(widths) if width > least[n])
        )
        widths[narrow] -= 1
    return widths


def _word(cells: Sequence[str]) -> int:
    """Return the length of the longest word."""
    return max((len(word) for cell in cells for word in cell.split()), default=0)


def _lines(row: Sequence[str], widths: Sequence[int], right: Collection[int], gap: str) -> list[str]:
    """Return the lines of one row."""
    if all(map(operator.le, map(len, row), widths)):
        row = [
            cell.rjust(w) if n in right else cell.ljust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        return [gap.join(row).rstrip()]
    parts = [
        [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    return [
        gap.join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in zip_longest(*parts, fillvalue="")
    ]


def _blocks(cells: Sequence[Sequence[str]], limit: int) -> str:
    """Return a block for each row with a line, or several, for each cell."""
    head, *rows = cells
    indent = min(max(map(len, head)), limit // 2) + 2
    return "\n\n".join(
        "\n".join(
            textwrap.fill(
                f"{name.ljust(indent - 2)}  {cell}",
                limit,
                subsequent_indent=" " * indent,
                break_on_hyphens=False,
            )
            for name, cell in zip(head, row, strict=True)
        )
        for row in rows
    )
