"""Write pipe tables, the tables of Markdown, and code for commands in prose. All pipe tables of labkit come from here.

The library tabulate writes them too, but a bar inside a cell ends that cell, and its rules are as long as the longest
cell. Pandoc takes the widths of columns from the rules, so one column of prose would starve the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LEAST, _MOST = 6, 60  # dashes of a rule
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_SIGNS = re.compile(r"([\\`<\[{|])")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_VALUE = (
    r"(?:[A-Z][A-Z_]+\b|B\b|[^\s`|()]*[\d=][^\s`|()]*|\w+(?:,\w+)+)"  # of an option; another word is of the sentence
)
_OPTION = rf"(?:--[a-z][\w-]*(?:[ =]{_VALUE})?|-[a-zA-Z] \d[^\s`|()]*)"
_LABKIT = r"labkit [a-z]+(?: [^\s`|-][^\s`|]*){0,2}"
COMMAND = re.compile(  # a command of labkit or an option, in a text that is not Markdown
    rf"(?<![^\s(])(?:(?:{_LABKIT} (?=-))?{_OPTION}(?: {_OPTION})*|labkit (?:doctor|explain|gate|lint|run|tune)\b)"
    r"(?<![.,;:])"
)
_RULES = {"l": ":{}-", "r": "-{}:", "c": ":{}:"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "", caption: str = "") -> str:
    r"""Return a pipe table of cells in Markdown; a bar or a line end inside a cell does not end the cell.

    Parameters
    ----------
    head : column heads.
    rows : cells of each row, one per head.
    align : ``l``, ``r`` or ``c`` for each column (default: left).
    caption : caption with its label, as in ``Hosts. {#tbl-hosts}``.

    Examples
    --------
    >>> print(table(["size", "time (µs)"], [["8 B", "0.21"], ["a|b", "`c|d`"]], align="lr"))
    | size | time (µs) |
    |:-----|--------:|
    | 8 B | 0.21 |
    | a\|b | `c|d` |
    """
    cells = [[_cell(cell) for cell in row] for row in (head, *rows)]
    widths = [max(_LEAST, *(min(len(row[i]), _MOST) for row in cells)) for i in range(len(head))]
    rules = [_RULES[a].format("-" * (w - 2)) for w, a in zip(widths, align or "l" * len(head), strict=True)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    text = "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]])
    return f"{text}\n\n: {caption}" if caption else text


def commands(text: str) -> str:
    """Return a plain text as Markdown with the commands and options in it as code.

    Examples
    --------
    >>> print(commands("Bind each rank: --bind core, or see labkit doctor."))
    Bind each rank: `--bind` core, or see `labkit doctor`.
    """
    return COMMAND.sub(lambda match: f"`{match[0]}`", text)


def quiet(text: str) -> str:
    r"""Return a text with the signs escaped that would begin code, links, markup or another cell.

    Examples
    --------
    >>> print(quiet("a[1] | b"))
    a\[1] \| b
    """
    return _SIGNS.sub(r"\\\1", text)


def _cell(text: str) -> str:
    """A cell on one line, with its bars escaped if they are not code."""
    line, parts, end = " ".join(text.splitlines()), [], 0
    for code in _CODE.finditer(line):
        parts += [_BAR.sub(r"\1\\|", line[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _BAR.sub(r"\1\\|", line[end:])])
