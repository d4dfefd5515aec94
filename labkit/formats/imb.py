"""Tables of the Intel MPI benchmarks (IMB 2021.11; IMB_output.c, imb_p2p.c and MT_benchmark.h print them).

Times are means over the repetitions, in µs: ``t`` of the slowest rank (of a ping-pong half the round trip), ``t_min``,
``t_max`` and ``t_avg`` of the fastest and slowest rank and the mean over ranks. ``Mbytes/sec`` follows from the slowest
rank; a MB is 10^6 B since IMB 2018 and was 2^20 B before. Size 0 is measured, its bandwidth is printed as 0.00 and left
out here. IMB-MT prints the bytes of all threads together, without a line on its version before or on its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from labkit.columns import METRICS
from labkit.formats._table import TWO_DECIMALS, WHOLE, Lines, Row, Table, joined, printed
from labkit.spec import Reported

VERSION = "2021.11"  # the layout that is written
WIDTH = 13  # of a column
END = "# All processes entering MPI_Finalize"
PARTS = {
    "MPI-1": "IMB-MPI1", "MPI-2": "IMB-EXT", "MPI-IO": "IMB-IO", "MPI-NBC": "IMB-NBC", "MPI-RMA": "IMB-RMA",
    "RMA": "IMB-RMA", "MPI-4": "IMB-MPI4", "IMB-P2P": "IMB-P2P",
}  # fmt: skip
_RANGE = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")
_OVERLAP = ("t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]")
_RANGES = ("IMB-EXT Accumulate", "IMB-EXT Window", *(f"IMB-RMA {name}" for name in (
    "All_put_all", "All_get_all", "Exchange_put", "Exchange_get",
)))  # fmt: skip
# column → metric, its unit where it is none of labkit's, statistic
_METRICS = {
    "t[usec]": ("latency_us", "µs", "mean"), "t_min[usec]": ("latency_us", "µs", "rank_min"),
    "t_max[usec]": ("latency_us", "µs", "rank_max"), "t_avg[usec]": ("latency_us", "µs", "osu_mean"),
    "t_ovrl[usec]": ("latency_us", "µs", "mean"), "t_pure[usec]": ("pure_us", "µs", "mean"),
    "t_CPU[usec]": ("compute_us", "µs", "mean"), "overlap[%]": ("overlap_imb_percent", "%", "value"),
    "Mbytes/sec": ("bandwidth_MBps", "MB/s", "mean"), "Msg/sec": ("message_rate_per_s", "1/s", "mean"),
    "defects": ("defects", "", "value"),
}  # fmt: skip
_MOVING = ("pingpong", "pingping", "sendrecv", "exchange")
_WHOLE = ("Group", "#repetitions", "Msg/sec")
_RULE = re.compile(r"#-{20,}")
_TITLE = re.compile(r"# +Intel\(R\) MPI Benchmarks (\S+), (\S+) part(?:n#-+|.*)")
_NAME = re.compile(r"# Benchmarking (\S+)(?: (\(.+\)))? *")
_RANKS = re.compile(r"# #processes = (\d{1,9})(?: \(threads: (\d{1,9})\))?(?:; rank order.*)? *")
_GROUPS = re.compile(r"# \( (\d{1,9}) groups of (\d{1,9}) processes each running simultaneous \) *")
_MODE = re.compile(r"# +MODE: (AGGREGATE|NON-AGGREGATE) *")
_FAILED = re.compile(r" *(\d{1,18}) ((?:out-of-mem\.|int-overflow|time-out\.).*)")
_CALL = re.compile(r"# ((?:\S*/)?IMB-\w+(?: .*?)?) *")  # the command line
_FACT = re.compile(r"# ([A-Za-z_][^:=]{1,40}?) *[:=] *(\S.*?) *")


def recognised(text: str) -> bool:
    """Whether a text is one of these."""
    return re.search(r"^# (?: +Intel\(R\) MPI Benchmarks|Benchmarking \w)", text, flags=re.MULTILINE) is not None


def parse(text: str, where: str = "IMB's output") -> tuple[Table, ...]:
    """Every table of a text with the output of one or more runs.

    Parameters
    ----------
    where : how errors call the text, such as its path.

    Raises
    ------
    DataError
        For a line that does not fit, or a run without its last line; names line, found and wanted.
    """
    lines, tables, start = Lines(text, where), list[Table](), 0
    title: tuple[str, str] | None = None
    facts: dict[str, str] = {}
    while lines.ahead is not None:
        ahead = lines.ahead
        if found := _TITLE.fullmatch(ahead):
            if title or found[2] not in PARTS:
                raise lines.wrong(f"{END!r} before the next run" if title else f"a part of {', '.join(PARTS)}")
            title, facts = (PARTS[found[2]], found[1]), {}
        elif _RULE.fullmatch(ahead):
            lines.take()
            if _NAME.fullmatch(lines.ahead or "") and (new := _test(lines, start, title, facts)):
                tables += new
                start = lines.taken
            continue
        elif ahead == END and title:
            title = None
        elif ahead.strip() and (not title or not ahead.startswith("#") or _NAME.fullmatch(ahead)):
            raise lines.wrong(
                "'#    Intel(R) MPI Benchmarks …'" if not title else "a line of dashes and '# Benchmarking …'"
            )
        elif call := _CALL.fullmatch(ahead):
            facts["call"] = call[1]
        elif fact := _FACT.fullmatch(ahead):
            facts.setdefault(fact[1], fact[2])
        lines.take()
    if title or not tables:
        raise lines.wrong(f"{END!r}, with which IMB ends" if title else "a table below '# Benchmarking …'")
    return joined([*tables[:-1], replace(tables[-1], closing=lines.since(start), last=lines.taken)])


def _test(lines: Lines, start: int, title: tuple[str, str] | None, facts: dict[str, str]) -> list[Table]:
    """The table of one test; none where it had no successful execution."""
    name = _NAME.fullmatch(lines.take())
    assert name is not None
    parameters = dict(facts) | ({"grid": name[2]} if name[2] else {})
    while not _RULE.fullmatch(lines.ahead or ""):
        ahead = lines.ahead
        if ahead is None or (ahead.strip() and not ahead.startswith("#")) or _NAME.fullmatch(ahead):
            raise lines.wrong("'# #processes = …' and a line of dashes")
        if ahead == "# NO SUCCESSFUL EXECUTIONS":
            lines.take()
            return []
        if ranks := _RANKS.fullmatch(ahead):
            parameters["#processes"] = ranks[1]
            parameters |= {"threads": ranks[2]} if ranks[2] else {}
        elif groups := _GROUPS.fullmatch(ahead):
            parameters |= {"groups": groups[1], "#processes": groups[2]}
        elif fact := re.fullmatch(r"# (\w+) = (\d+)", ahead):
            parameters[fact[1]] = fact[2]
        lines.take()
    if "#processes" not in parameters or (title is None and "threads" not in parameters):
        raise lines.wrong(
            "'# #processes = …' above" if title else "'#    Intel(R) MPI Benchmarks …' above: no run began"
        )
    lines.take()
    parameters |= _mode(lines)
    columns, preamble = _head(lines), lines.since(start)
    lines.take()
    part, version = title or ("IMB-MT", "")
    own = tuple(column for column in columns if column != "#bytes")
    rows = _rows(lines, columns)
    return [Table(f"{part} {name[1]}", name[1], version, parameters, own, rows, preamble, last=lines.taken)]


def _mode(lines: Lines) -> dict[str, str]:
    """The three lines that tell aggregate from non-aggregate, where there are such."""
    if lines.ahead != "#":
        return {}
    lines.take()
    mode = _MODE.fullmatch(lines.ahead or "")
    if not mode:
        raise lines.wrong("'#    MODE: AGGREGATE' or '#    MODE: NON-AGGREGATE'")
    lines.take()
    if lines.ahead != "#":
        raise lines.wrong("'#' below the mode")
    lines.take()
    return {"MODE": mode[1]}


def _head(lines: Lines) -> tuple[str, ...]:
    """Names of the columns; the line is not taken."""
    columns = tuple((lines.ahead or "").split())
    known = ("Group", "#bytes", "#repetitions", *_METRICS)
    if "#repetitions" not in columns or len(columns) < 2 or not set(columns) <= set(known):
        raise lines.wrong(f"the names of columns, some of {', '.join(known)}")
    return columns


def _rows(lines: Lines, columns: Sequence[str]) -> tuple[Row, ...]:
    """Rows below a head; with groups, a blank line stands above those of each size."""
    rows: list[Row] = []
    while lines.ahead is not None:
        if "Group" in columns and lines.ahead == "":
            before = lines.taken
            lines.take()
            if not (lines.ahead or "#").strip() or (lines.ahead or "#").startswith("#"):
                lines.taken = before
                break
        if not lines.ahead.strip() or lines.ahead.startswith("#"):
            break
        rows.append(_row(lines, columns))
        lines.take()
    if not rows:
        raise lines.wrong("a row of the table")
    return tuple(rows)


def _row(lines: Lines, columns: Sequence[str]) -> Row:
    """The row ahead."""
    ahead = lines.ahead or ""
    if "#bytes" in columns and "Group" not in columns and (failed := _FAILED.fullmatch(ahead)):
        return Row(int(failed[1]), (), failed[2], lines.number)
    fields = ahead.split()
    if len(fields) != len(columns):
        raise lines.wrong(f"a row of {len(columns)} values: {', '.join(columns)}")
    size, values = None, []
    for field, column in zip(fields, columns, strict=True):
        form = WHOLE if column in _WHOLE or column == "#bytes" else TWO_DECIMALS
        value = lines.value(field, form, f"{column} as IMB prints it")
        if column == "#bytes":
            if not isinstance(value, int):
                raise lines.wrong(f"a size in bytes instead of {field!r}")
            size = value
        else:
            values.append(value)
    return Row(size, tuple(values), line=lines.number)


# ---- values ----------------------------------------------------------------------------------------------------


def reported(table: Table, row: Row) -> list[Reported]:
    """Values of a row under labkit's names, `defects` of IMB's check as its own; what is not finite is left out."""
    found = []
    for column, value in zip(table.columns, row.values, strict=False):
        if column in _METRICS and isinstance(value, int | float) and not (column == "Mbytes/sec" and row.size == 0):
            name, unit, statistic = _METRICS[column]
            if column == "t[usec]" and table.test.startswith("IMB-P2P"):  # the mean over ranks there
                statistic = "osu_mean"
            number = float(value) * (_mega(table.version) if column == "Mbytes/sec" else 1)
            found.append(Reported(name, METRICS[name].unit if name in METRICS else unit, statistic, number))
    return found


def _mega(version: str) -> float:
    """How many of 10^6 B make a Mbyte of that version."""
    year = re.match(r"\d+", version)
    return 1.0 if not year or int(year[0]) >= 2018 else 2**20 / 1e6


def size(table: Table, row: Row) -> int:
    """Size of one message, B: IMB-MT prints that of all threads together."""
    return (row.size or 0) // int(table.parameters.get("threads", 1) or 1)


# ---- writing ---------------------------------------------------------------------------------------------------


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
    """Lines that IMB prints at the start of a run; none for IMB-MT.

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
    """Lines that IMB prints above the head of a table."""
    part, _, name = test.partition(" ")
    rule = "#" + "-" * (WIDTH * (len(names) + sized) - 1)
    counted = f"# #processes = {ranks}" + (f" (threads: {threads})" if part == "IMB-MT" else " ")
    return ("", rule, f"# Benchmarking {name} ", counted, rule)


def write(tables: Iterable[Table]) -> str:
    """The text of tables, as IMB lays it out; `parse` gives them back."""
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
                lines += [""] if group <= last or last < 0 else []
                last = group
            lines.append(_line(row, names))
        lines += table.closing
    return "".join(f"{line}\n" for line in lines)


def _line(row: Row, names: Sequence[str]) -> str:
    """One row."""
    if row.remark:
        return f"{row.size:>{WIDTH}} {row.remark}"
    values = list(row.values)
    if "#bytes" in names:
        values.insert(names.index("#bytes"), row.size)
    return "".join(printed(value).rjust(WIDTH) for value in values)
