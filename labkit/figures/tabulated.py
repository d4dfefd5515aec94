"""Write a table as a paper includes it: LaTeX with booktabs and siunitx, Typst, or Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from labkit.errors import SpecError
from labkit.figures.parts import Table
from labkit.figures.publication import tex

_NUMBER = re.compile(r"[-+−]?(\d+)(?:\.(\d+))?")
_NONE = ("", "-", "–")
_ESCAPED = re.compile(r"\\([^\w\s])")


def written(table: Table, form: str) -> str:
    r"""Return a table as text.

    Parameters
    ----------
    form : an ending of `FORMS`.

    Raises
    ------
    SpecError
        For another ending.

    Examples
    --------
    >>> print(written(Table.of(["path", "latency (µs)"], [["shm", "0.21"], ["tcp", "12.5"]], "lr"), ".tex"))
    % needs \usepackage{booktabs} and \usepackage{siunitx}
    \begin{tabular}{lS[table-format=2.2]}
    \toprule
    path & {latency ($\mu$s)} \\
    \midrule
    shm & 0.21 \\
    tcp & 12.5 \\
    \bottomrule
    \end{tabular}
    """
    if form not in FORMS:
        raise SpecError(f"A table cannot end in {form or 'nothing'!r}. End it in one of: {', '.join(FORMS)}.")
    return FORMS[form](table)


def _latex(table: Table) -> str:
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    formats = [
        _format([row[n] for row in rows]) if column.align == "r" else "" for n, column in enumerate(table.columns)
    ]
    sides = "".join(
        f"S[table-format={f}]" if f else column.align for f, column in zip(formats, table.columns, strict=True)
    )
    heads = [tex(_plain(column.title)) for column in table.columns]
    lines = [" & ".join(f"{{{head}}}" if f else head for f, head in zip(formats, heads, strict=True))]
    for row in rows:
        lines.append(" & ".join(_cell(cell, bool(f)) for f, cell in zip(formats, row, strict=True)))
    lines = [f"{{}}{line}" if line.startswith(("[", "*")) else line for line in lines]  # no argument of the line above
    return "\n".join(
        [
            r"% needs \usepackage{booktabs} and \usepackage{siunitx}",
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            rf"{lines[0]} \\",
            r"\midrule",
            *(rf"{line} \\" for line in lines[1:]),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _cell(cell: str, number: bool) -> str:
    """Return a cell; siunitx takes what is not a number in braces."""
    if not number:
        return tex(cell)
    return cell.replace(",", "").replace("−", "-") if cell not in _NONE else f"{{{tex(cell)}}}"


def _format(cells: Sequence[str]) -> str:
    """Return the digits of a column of numbers before and after the point, as siunitx takes them; else nothing."""
    found = [_NUMBER.fullmatch(cell.replace(",", "")) for cell in cells if cell not in _NONE]
    if not found or None in found:
        return ""
    whole, part = (max(len(one[n] or "") for one in found if one) for n in (1, 2))
    sign = "-" if any(one[0][0] in "-−" for one in found if one) else ""
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def _typst(table: Table) -> str:
    def cells(texts: Sequence[str]) -> str:
        return ", ".join('"' + _plain(one).replace("\\", r"\\").replace('"', r"\"") + '"' for one in texts)

    sides = ", ".join({"l": "left", "r": "right"}[column.align] for column in table.columns)
    return "\n".join(
        [
            "#table(",
            f"  columns: {len(table.columns)},",
            f"  align: ({sides},),",
            "  stroke: none,",
            "  table.hline(),",
            f"  table.header({cells([column.title for column in table.columns])}),",
            "  table.hline(stroke: 0.5pt),",
            *(f"  {cells(row)}," for row in table.rows),
            "  table.hline(),",
            ")",
        ]
    )


def _plain(text: str) -> str:
    """Return a cell of Markdown as plain text on one line."""
    return " ".join(_ESCAPED.sub(r"\1", text.replace("`", "")).split())


FORMS: Mapping[str, Callable[[Table], str]] = {".tex": _latex, ".typ": _typst, ".md": str}
