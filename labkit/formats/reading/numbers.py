"""Numbers of other languages in the rows of a table: a decimal comma, and marks between thousands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_ROW = re.compile(r"\s*[\d.,]*\d(?:\s+[\d.,]*\d)+\s*")
_COMMA = re.compile(r"\d+(?:,\d+)?")
_THOUSANDS = {
    mark: re.compile(rf"\d+(?:{point}\d+)?|\d{{1,3}}(?:{mark}\d{{3}})+(?:{point}\d+)?")
    for mark, point in ((",", r"\."), (r"\.", ","))
}
_BOTH = re.compile(r"\d[.,]\d{3}[.,]\d+")
_GROUP = 3  # digits between marks of thousands


def way(lines: Iterable[str]) -> Callable[[str], str] | None:
    """Return a function that writes the numbers in a row with a decimal point alone; None if rows are so already.

    The rows of a text must agree, and one of them must show what a comma means: `1,5` and `1,024.5` do, `1,024` does
    not.

    Examples
    --------
    >>> written = way(["# Size  Latency (us)", "8  1,23", "1024  3,750"])
    >>> written("1024  3,750"), written("# 1,2") if written else ""
    ('1024  3.750', '# 1,2')
    >>> way(["8  1,024"]), way(["8  1,23", "16  1.30"])
    (None, None)
    """
    cells = [cell for line in lines if _ROW.fullmatch(line) for cell in line.split()]
    marked = [cell for cell in cells if "," in cell]
    if not marked:
        return None
    if all(map(_COMMA.fullmatch, cells)) and any(len(cell.partition(",")[2]) != _GROUP for cell in marked):
        return lambda line: line.replace(",", ".") if _ROW.fullmatch(line) else line
    if not any(map(_BOTH.search, marked)):
        return None
    if all(map(_THOUSANDS[","].fullmatch, cells)):
        return lambda line: line.replace(",", "") if _ROW.fullmatch(line) else line
    if all(map(_THOUSANDS[r"\."].fullmatch, cells)):
        return lambda line: line.replace(".", "").replace(",", ".") if _ROW.fullmatch(line) else line
    return None
