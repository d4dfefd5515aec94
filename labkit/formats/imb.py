"""Read tables of the Intel MPI benchmarks, versions 3 to 2021 (IMB_output.c, imb_p2p.c, MT_benchmark.h print them).

Times are means over the repetitions, in µs: ``t`` of the slowest rank (of a ping-pong half the round trip), ``t_min``,
``t_max`` and ``t_avg`` of the fastest and slowest rank and the mean over ranks. ``Mbytes/sec`` follows from the slowest
rank; a MB is 10^6 B since IMB 2018 and was 2^20 B before. IMB measures size 0 and prints its bandwidth as 0.00; that
value is left out here. IMB-MT prints the bytes of all threads together, no line at its end, and with -noheader no
version. An excerpt may lack title, end, number of processes, and all of the line with a test's name but the name. A
test of several groups at once (-multi) is called Multi-… and says how many groups there are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from labkit.formats.reading.lines import TWO_DECIMALS, WHOLE, Lines, is_damaged_row, is_row
from labkit.formats.reading.table import Meaning, Row, Table, bulk, in_parts, printed, unless_cut
from labkit.point.columns import METRICS
from labkit.point.spec import Reported

CLOCK_NS = 10.0  # prints µs with two decimals
VERSION = "2021.11"  # the layout that is written
_WIDTH = 13  # of a column
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
    "IMB-RMA All_put_all",
    "IMB-RMA All_get_all",
    "IMB-RMA Exchange_put",
    "IMB-RMA Exchange_get",
)
ENDLESS = 1 << 62  # rows
_DECIMAL = 2018  # from this version on a MB is 10^6 B
# column → metric, its unit where it is none of labkit's, statistic
_METRICS = {
    "t[usec]": ("latency_us", "µs", "mean"),
    "t_min[usec]": ("latency_us", "µs", "rank_min"),
    "t_max[usec]": ("latency_us", "µs", "rank_max"),
    "t_avg[usec]": ("latency_us", "µs", "osu_mean"),
    "t_ovrl[usec]": ("latency_us", "µs", "mean"),
    "t_pure[usec]": ("pure_us", "µs", "mean"),
    "t_CPU[usec]": ("compute_us", "µs", "mean"),
    "overlap[%]": ("overlap_imb_percent", "%", "value"),
    "Mbytes/sec": ("bandwidth_MBps", "MB/s", "mean"),
    "Msg/sec": ("message_rate_per_s", "1/s", "mean"),
    "defects": ("defects", "", "value"),
}
_WHOLE = ("Group", "#bytes", "#repetitions", "Msg/sec")
_RULE = re.compile(r"#-{20,}")
_TITLE = re.compile(r"# +Intel ?\(R\) MPI Benchmark(?:s| Suite) V?([^,]{1,40}), (\S+) part(?:n#-+|.*)")
_NAME = re.compile(r"(?:# )?Benchmarking (\S+)(?: (\(.+\)))?")
# a line with nothing but the name of a test, as people write above an excerpt
_ALONE = re.compile(
    r"(?:#{2,} +)?[^\w#]*(?:IMB-\w+ )?((?:Ping(?:Pong|Ping)|Sendrecv|Exchange|(?:All|I?)(?:reduce|gatherv?|toallv?)"
    r"|Reduce(?:_scatter(?:_block)?|_local)?|(?:Gather|Scatter)v?|Bcast|Barrier|Uniband|Biband))[^\w#]*"
)
_ALONE_ABOVE = 6  # lines from it to the head
_RANKS = re.compile(r"# (?:\( )?#processes = (\d{1,9})(?: \))?(?: \(threads: (\d{1,9})\))?(?:; rank order.*)?")
_GROUPS = re.compile(r"# \( (\d{1,9}) groups of (\d{1,9}) processes each running simultaneous \)")
_MODE = re.compile(r"# +MODE: (AGGREGATE|NON-AGGREGATE)")
_FAILED = re.compile(r" *(?:(\d{1,9}) +)?(\d{1,18}) ((?:out-of-mem\.|int-overflow|time-out\.).*)")
_CALL = re.compile(r"# ((?:\S*/)?IMB-\w+(?: .*)?)")  # the command line
_FACT = re.compile(r"# ([A-Za-z_][^:=]{1,40}?) *[:=] *(\S.*?)")
# test → the part that has it; all others are of MPI1
_PART_OF = (
    (re.compile(r"I[a-z]\w+"), "IMB-NBC"),
    (re.compile(r"Window|(?:Uni|Bi)dir_(?:Put|Get)|Accumulate"), "IMB-EXT"),
    (re.compile(r"(?:Unidir|Bidir|Exchange)_(?:put|get)|(?:One|All)_(?:put|get)_all|Truly_passive_put"), "IMB-RMA"),
    (re.compile(r"(?:Put|Get)_(?:all_)?local|Get_accumulate|Fetch_and_op|Compare_and_swap"), "IMB-RMA"),
    (re.compile(r"[SPC]_I?(?:Read|Write|read|write)\w*|Open_Close"), "IMB-IO"),
    (re.compile(r"Stencil[23]D|(?:Uni|Bi|Co)random"), "IMB-P2P"),
)
BEGINS = r"# (?: +Intel ?\(R\) MPI Benchmark|Benchmarking \w)|#(?:bytes +#)?repetitions +t"
MARKS = ") MPI Benchmark", "# Benchmarking ", "#repetitions "


def recognised(text: str) -> bool:
    """Whether a text has output of IMB."""
    return re.search(rf"^(?:{BEGINS})", text, flags=re.MULTILINE) is not None


def lines_of(text: str | Iterable[str], where: str) -> Lines:
    """Return the lines of a text that IMB may have printed."""
    return Lines(
        text, where, lambda line: line.split(maxsplit=1)[0] == "Group" or _is_failed(line) or _begins_test(line)
    )


def _is_failed(line: str) -> bool:
    """Whether a line is a row of a size that IMB could not measure."""
    return bool(_FAILED.fullmatch(line))


def _begins_test(line: str) -> bool:
    """Whether a line names a test."""
    return bool(_NAME.fullmatch(line.strip()) or _ALONE.fullmatch(line))


def parse(text: str, where: str = "IMB's output") -> tuple[Table, ...]:
    """Parse every table of a text with the output of one or more runs.

    Parameters
    ----------
    where : how errors call the text, such as its path.

    Raises
    ------
    DataError
        For a line that does not fit, or a run without its last line; names line, found and wanted.
    """
    lines = lines_of(text, where)
    *before, last = tables(lines)
    return (*before, replace(last, closing=(*last.closing, *lines.table_lines), last=max(last.last, lines.taken)))


def tables(lines: Lines, most: int = ENDLESS) -> Iterator[Table]:
    """Yield the tables one after the other; one with more rows than `most` comes in parts.

    Raises
    ------
    DataError
        As `parse`, once it is there.
    """
    title: tuple[str, str] | None = None
    any_table, in_run, facts = False, 0, dict[str, str]()  # in_run: number of tables of this run
    alone = 0, ""  # the last name of a test without "Benchmarking", and its line
    while (ahead := lines.ahead) is not None:
        if not ahead:
            lines.take()
            continue
        if begun := _TITLE.fullmatch(ahead):
            title, facts, in_run = _begun(lines, begun, title, in_run), {}, 0
            continue
        name = _NAME.fullmatch(ahead.strip())
        nameless = alone[1] if _is_head(ahead) and lines.number - alone[0] <= _ALONE_ABOVE else ""
        if name or nameless:
            alone = 0, ""
            for table in _test(lines, title, facts, nameless, most):
                yield table
                any_table, in_run = True, in_run + 1
            continue
        if only := _ALONE.fullmatch(ahead):
            alone = lines.number, only[1]
        if ahead == END and title:
            title = None
        elif (is_row(ahead) and (any_table or title)) or _is_head(ahead):  # an excerpt may begin within a table
            raise lines.wrong("a line '# Benchmarking …' above")
        elif call := _CALL.fullmatch(ahead):
            facts["call"] = call[1]
        elif fact := _FACT.fullmatch(ahead):
            facts.setdefault(fact[1], fact[2])
        (lines.take if ahead.lstrip()[0] == "#" else lines.skip)()
    if title and title[0] != "IMB-MT":
        raise lines.wrong(f"{END!r}, with which IMB ends")
    if not any_table:
        raise lines.none("a table below '# Benchmarking …'")


def _begun(lines: Lines, begun: re.Match[str], before: tuple[str, str] | None, in_run: int) -> tuple[str, str]:
    """Return part and version of the run that begins; leave out a head that came twice.

    If the run before did not end, that is noted.
    """
    if before and before[0] != "IMB-MT" and in_run:
        lines.ends_early(f"{END!r}, with which IMB ends")
    if begun[2] not in PARTS:
        raise lines.wrong(f"a part of {', '.join(PARTS)}")
    if before and not in_run and before == (PARTS[begun[2]], begun[1]):
        lines.skip()
    else:
        lines.take()
    return PARTS[begun[2]], begun[1]


def _test(
    lines: Lines, title: tuple[str, str] | None, facts: dict[str, str], nameless: str, most: int
) -> Iterator[Table]:
    """Yield the table of one test; none if it had no successful execution, or if its head follows once more.

    Parameters
    ----------
    nameless : the name of the test, if its head is ahead and no line '# Benchmarking …'; else empty.
    """
    name = None if nameless else _NAME.fullmatch(lines.take().strip())
    test = name[1] if name else nameless
    parameters = dict(facts) | ({"grid": name[2]} if name and name[2] else {})
    while not _RULE.fullmatch(lines.ahead or ""):
        ahead = lines.ahead
        if ahead is not None and _is_head(ahead):  # of an excerpt
            break
        if ahead is None or is_row(ahead) or _NAME.fullmatch(ahead.strip()):
            raise lines.wrong("'# #processes = …' and a line of dashes")
        if ahead == "# NO SUCCESSFUL EXECUTIONS":
            lines.take()
            return
        if ahead and ahead.lstrip()[0] != "#":
            lines.skip()
            continue
        parameters |= _counts(ahead)
        lines.take()
    if _RULE.fullmatch(lines.ahead or ""):
        rule = lines.take()
        parameters |= _mode(lines)
        if _RULE.fullmatch(lines.past_blanks() or "") and lines.past_blanks() == rule:
            lines.skipped.add(f"# Benchmarking {test}", lines.taken)  # the head of the same table follows
            return
    names, preamble = _head(lines), tuple(lines.table_lines)
    head = lines.take()
    part, version = title or (_part(test, names, threads="threads" in parameters), "")
    table_columns = tuple(column for column in names if column != "#bytes")
    table = Table(f"{part} {test}", test, version, parameters, table_columns, (), preamble, head=head)
    yield from in_parts(table, _rows(lines, names, head, most), lines)


def _part(name: str, names: Sequence[str], *, threads: bool) -> str:
    """Return the part of IMB that has a test, where the title is missing: from its name and its columns."""
    if threads:
        return "IMB-MT"
    if name in ("PingPong", "PingPing") and "Msg/sec" in names:
        return "IMB-P2P"
    return next((part for form, part in _PART_OF if form.fullmatch(name)), "IMB-MPI1")


@lru_cache(256)
def _counts(line: str) -> dict[str, str]:
    """Return what a line below the name of a test states, such as ranks, threads and groups."""
    if ranks := _RANKS.fullmatch(line):
        return {"#processes": ranks[1]} | ({"threads": ranks[2]} if ranks[2] else {})
    if groups := _GROUPS.fullmatch(line):
        return {"groups": groups[1], "#processes": groups[2]}
    fact = re.fullmatch(r"# (\w+) = (\d+)", line)
    return {fact[1]: fact[2]} if fact else {}


def _mode(lines: Lines) -> dict[str, str]:
    """Read the three lines that distinguish aggregate from non-aggregate, if a test has them."""
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


def _is_head(line: str) -> bool:
    """Whether a line names columns."""
    return "#repetitions" in line.split()


def _head(lines: Lines) -> tuple[str, ...]:
    """Return the names of the columns; the line is not taken."""
    names = tuple((lines.ahead or "").split())
    known = ("Group", "#bytes", "#repetitions", *_METRICS)
    if "#repetitions" not in names or len(names) < 2 or not set(names) <= set(known):
        raise lines.wrong(f"the names of columns, some of {', '.join(known)}")
    return names


def _rows(lines: Lines, names: Sequence[str], head: str, most: int) -> Iterator[tuple[Row, ...]]:
    """Yield the rows below a head, part by part; with groups, a blank line stands above the rows of each size."""
    forms = [WHOLE if name in _WHOLE else TWO_DECIMALS for name in names]
    take, count = partial(_row, lines, names, forms, head), 0
    while True:
        rows = bulk(lines, names, forms, "#bytes", most)
        while len(rows) < most and _row_follows(lines, names, head, some=count + len(rows) > 0):
            rows += unless_cut(lines, take, above=count + len(rows) > 0)
        count += len(rows)
        if rows:
            yield tuple(rows)
        if len(rows) < most:  # what follows is not a row
            break
    if not count:
        raise lines.wrong("a row of the table")


def _row_follows(lines: Lines, names: Sequence[str], head: str, *, some: bool) -> bool:
    """Whether there is another row; a head below `some` rows belongs to another table."""
    return lines.row_follows(
        lambda line: not some and _is_head(line) and line.split() == head.split(),
        lambda line: line.startswith("#") or _begins_test(line),
        lambda line: is_row(line) or is_damaged_row(line, len(names)) or _is_failed(line),
    )


def _row(lines: Lines, names: Sequence[str], forms: Sequence[str], head: str) -> Row:
    """Take the row ahead."""
    text, number = lines.ahead or "", lines.number
    failed = _FAILED.fullmatch(text)
    if failed and "#bytes" in names and (failed[1] is not None) == ("Group" in names):
        lines.take()
        return Row(int(failed[2]), (int(failed[1]),) if failed[1] else (), failed[3], number, text)
    fields = text.split()
    if len(fields) != len(names):
        raise lines.wrong(f"a row of {len(names)} values: {', '.join(names)}")
    size, values = None, []
    for cell, name, form in zip(fields, names, forms, strict=True):
        value = lines.value(cell, form, f"{name} as IMB prints it")
        if name == "#bytes":
            if not isinstance(value, int):
                raise lines.wrong(f"a size in bytes instead of {cell!r}")
            size = value
        else:
            values.append(value)
    lines.whole_row(head, forms[-1])
    lines.take()
    return Row(size, tuple(values), "", number, text)


# ---- values ----------------------------------------------------------------------------------------------------


def meanings(table: Table) -> list[Meaning]:
    """Return the columns of a table under labkit's names."""
    described = []
    for place, column in enumerate(table.columns):
        if column in _METRICS:
            name, unit, statistic = _METRICS[column]
            bandwidth = column == "Mbytes/sec"
            if column == "t[usec]" and table.test.startswith("IMB-P2P"):  # the mean over ranks there
                statistic = "osu_mean"
            known = METRICS[name].unit if name in METRICS else unit
            factor = _mega(table) if bandwidth else 1.0
            if factor is None:
                continue
            described.append(Meaning(place, name, known, statistic, factor, sized=bandwidth))
    return described


def reported(table: Table, row: Row) -> list[Reported]:
    """Return the values of a row under labkit's names, and IMB's own `defects`; what is not finite is left out."""
    values = ((meaning, meaning.value(row)) for meaning in meanings(table))
    return [
        Reported(meaning.name, meaning.unit, meaning.statistic, value) for meaning, value in values if value is not None
    ]


def _mega(table: Table) -> float | None:
    """Return the Mbyte of IMB's version in units of 10^6 B; None if neither the version nor a row shows it.

    An excerpt without a title does not state the version. labkit then takes the Mbyte with which rate times time of a
    row gives the bytes of 1, 2 or 4 messages.
    """
    old = 2**20 / 1e6
    if year := re.match(r"\d+", table.version):
        return 1.0 if int(year[0]) >= _DECIMAL else old
    if table.test.startswith(("IMB-MT", "IMB-P2P")):  # there since 2019
        return 1.0
    for row in reversed(table.rows):
        time, rate = table.value(row, _slowest(table)), table.value(row, "Mbytes/sec")
        if row.size and isinstance(time, float) and isinstance(rate, float) and time >= 1 and rate >= 1:
            messages = rate * time / row.size
            fitting = [mega for mega in (1.0, old) for m in (1, 2, 4) if math.isclose(messages * mega, m, rel_tol=0.02)]
            return fitting[0] if fitting else None
    return None


def _slowest(table: Table) -> str:
    """Return the column whose time gives the rate."""
    return "t_max[usec]" if "t_max[usec]" in table.columns else "t[usec]"


def size(table: Table, row: Row) -> int:
    """Return the size of one message, B; IMB-MT prints that of all threads together."""
    return (row.size or 0) // int(table.parameters.get("threads", 1) or 1)


# ---- writing ---------------------------------------------------------------------------------------------------


def columns(test: str) -> tuple[str, ...]:
    """Columns of a test, without the size."""
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
    facts : further lines, distinguished by their ``#`` like IMB's own.
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
    rule = "#" + "-" * (_WIDTH * (len(names) + sized) - 1)
    counted = f"# #processes = {ranks}" + (f" (threads: {threads})" if part == "IMB-MT" else " ")
    return ("", rule, f"# Benchmarking {name} ", counted, rule)


def write(tables: Iterable[Table]) -> str:
    """Return the text of tables, as IMB lays it out; `parse` reads it back."""
    lines: list[str] = []
    for table in tables:
        names = list(table.columns)
        if table.sized:
            names.insert(1 if names[0] == "Group" else 0, "#bytes")
        lines += [*table.preamble, "".join(name.rjust(_WIDTH) for name in names)]
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
        return "".join(f"{value:>{_WIDTH}}" for value in (*row.values, row.size)) + f" {row.remark}"
    values = list(row.values)
    if "#bytes" in names:
        values.insert(names.index("#bytes"), row.size)
    return "".join(printed(value).rjust(_WIDTH) for value in values)
