"""Write tables in the layout of the OSU micro-benchmarks; `labkit.formats.omb` reads it."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.formats._table import Table, printed

WIDTH = 18  # of a column


def write(tables: Iterable[Table]) -> str:
    """Return the text of tables, as OMB lays it out; `parse` reads it back."""
    lines: list[str] = []
    for table in tables:
        lines += table.preamble
        if table.columns[:1] == ("Window",):
            lines += _matrix_lines(table)
        elif table.test == "osu_init":
            low, high, mean = table.rows[0].values
            lines.append(f"nprocs: {table.parameters['nprocs']}, min: {low} ms, max: {high} ms, avg: {mean} ms")
        elif table.columns:
            lines += _table_lines(table)
        lines += table.closing
    return "".join(f"{line}\n" for line in lines)


def _table_lines(table: Table) -> list[str]:
    """Head and rows: the size flushed left, or the first column as wide as its name."""
    widths = [12 if name == "Iterations" else WIDTH for name in table.columns]
    start = f"{'# Size':10}" if table.sized else ""
    if not table.sized:
        widths[0] = len(table.columns[0]) + 2
    names = table.columns if table.sized else (f"# {table.columns[0]}", *table.columns[1:])
    lines = [start + "".join(name.rjust(width) for name, width in zip(names, widths, strict=True))]
    if table.test == "osu_latency_mp" and len(widths) == 1:
        widths = [10]
    for row in table.rows:
        start = "" if row.size is None else f"{row.size:<10}"
        lines.append(start + "".join(printed(v).rjust(w) for v, w in zip(row.values, widths, strict=True)))
    return lines


def _matrix_lines(table: Table) -> list[str]:
    """The two matrices of ``osu_mbw_mr -V``."""
    windows = list(dict.fromkeys(row.values[0] for row in table.rows))
    head = "#      " + "".join(f"  {window:>10}" for window in windows)
    lines = [head]
    for place in (1, 2):
        if place == 2:
            lines += ["", "# Message Rate Profile", head]
        for at in range(0, len(table.rows), len(windows)):
            group = table.rows[at : at + len(windows)]
            lines.append(f"{group[0].size:<7}" + "".join(f"  {printed(row.values[place]):>10}" for row in group))
    return lines
