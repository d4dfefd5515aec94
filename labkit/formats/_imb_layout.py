"""Write tables in the layout of the Intel MPI benchmarks (IMB 2021.11); `labkit.formats.imb` reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labkit.formats._table import Row, Table, printed

VERSION = "2021.11"  # the layout that is written
WIDTH = 13  # of a column
END = "# All processes entering MPI_Finalize"
PARTS = {
    "MPI-1": "IMB-MPI1",
    "MPI-2": "IMB-EXT",
    "MPI-IO": "IMB-IO",
    "MPI-NBC": "IMB-NBC",
    "MPI-RMA": "IMB-RMA",
    "RMA": "IMB-RMA",
    "MPI-4": "IMB-MPI4",
    "IMB-P2P": "IMB-P2P",
    "MT": "IMB-MT",
}
_MOVING = ("pingpong", "pingping", "sendrecv", "exchange")
_RANGE = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")
_OVERLAP = ("t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]")
_RANGES = (
    "IMB-EXT Accumulate",
    "IMB-EXT Window",
    *(
        f"IMB-RMA {name}"
        for name in (
            "All_put_all",
            "All_get_all",
            "Exchange_put",
            "Exchange_get",
        )
    ),
)


def columns(test: str) -> tuple[str, ...]:
    """Columns of a test, without that of the size."""
    part, _, name = test.partition(" ")
    overlap = "_I" in name if part == "IMB-IO" else part in ("IMB-NBC", "IMB-MPI4") and not name.endswith("_pure")
    if overlap:
        return ("#repetitions", *_OVERLAP)
    if name == "Truly_passive_put":
        return ("#repetitions", "t_pure[usec]", "t_ovrl[usec]")
    if name in ("Uniband", "Biband", "UniBandMT", "BiBandMT"):
        return ("#repetitions", *(["t_avg[usec]"] if part == "IMB-MT" else []), "Mbytes/sec", "Msg/sec")
    one = (part == "IMB-MPI1" and name[:4] == "Ping") or part == "IMB-P2P" or (part == "IMB-IO" and name[:2] == "S_")
    if one or (part in ("IMB-RMA", "IMB-EXT") and test not in _RANGES):
        return ("#repetitions", "t[usec]", "Mbytes/sec", *(["Msg/sec"] if part == "IMB-P2P" else []))
    moving = name[:2] in ("P_", "C_") or name.lower().removesuffix("mt") in _MOVING
    return ("#repetitions", *_RANGE, *(["Mbytes/sec"] if moving else []))


def opening(part: str, facts: Iterable[str], tests: Iterable[str]) -> tuple[str, ...]:
    """Return the lines that IMB prints at the start of a run; none for IMB-MT.

    Parameters
    ----------
    part : such as ``IMB-MPI1``.
    facts : further lines, told apart by their ``#`` like IMB's own.
    tests : names in the list of what is run.
    """
    if part == "IMB-MT":
        return ()
    rule = "#" + "-" * 64
    named = next(name for name, program in PARTS.items() if program == part)
    head = [rule, f"#    Intel(R) MPI Benchmarks {VERSION}, {named} part", rule, *(f"# {text}" for text in facts), ""]
    return (*head, "# List of Benchmarks to run:", "", *(f"# {name}" for name in tests))


def above(test: str, ranks: int, names: Sequence[str], *, sized: bool, threads: int = 1) -> tuple[str, ...]:
    """Return the lines that IMB prints above the head of a table."""
    part, _, name = test.partition(" ")
    rule = "#" + "-" * (WIDTH * (len(names) + sized) - 1)
    counted = f"# #processes = {ranks}" + (f" (threads: {threads})" if part == "IMB-MT" else " ")
    return ("", rule, f"# Benchmarking {name} ", counted, rule)


def write(tables: Iterable[Table]) -> str:
    """Return the text of tables, as IMB lays it out; `parse` reads it back."""
    lines: list[str] = []
    for table in tables:
        names = list(table.columns)
        if table.sized:
            names.insert(1 if names[0] == "Group" else 0, "#bytes")
        lines += [*table.preamble, "".join(name.rjust(WIDTH) for name in names)]
        last = -1
        for row in table.rows:
            if names[0] == "Group":
                group = row.values[0] if isinstance(row.values[0], int) else 0
                if group <= last or last < 0:
                    lines.append("")
                last = group
            lines.append(_line(row, names))
        lines += table.closing
    return "".join(f"{line}\n" for line in lines)


def _line(row: Row, names: Sequence[str]) -> str:
    """Lay out one row."""
    if row.remark:
        return "".join(f"{value:>{WIDTH}}" for value in (*row.values, row.size)) + f" {row.remark}"
    values = list(row.values)
    if "#bytes" in names:
        values.insert(names.index("#bytes"), row.size)
    return "".join(printed(value).rjust(WIDTH) for value in values)
