"""Tables of the Intel MPI benchmarks: read as versions 3 to 2021 print them (IMB_output.c, imb_p2p.c, MT_benchmark.h).

Times are means over the repetitions, in µs: ``t`` of the slowest rank (of a ping-pong half the round trip), ``t_min``,
``t_max`` and ``t_avg`` of the fastest and slowest rank and the mean over ranks. ``Mbytes/sec`` follows from the slowest
rank; a MB is 10^6 B since IMB 2018 and was 2^20 B before. Size 0 is measured, its bandwidth is printed as 0.00 and left
out here. IMB-MT prints the bytes of all threads together, no line on its end, and with -noheader none on its version.
A test of several groups at once (-multi) is called Multi-… and says how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from labkit.columns import METRICS
from labkit.formats._imb_layout import END as END
from labkit.formats._imb_layout import PARTS as PARTS
from labkit.formats._imb_layout import VERSION as VERSION
from labkit.formats._imb_layout import above as above
from labkit.formats._imb_layout import columns as columns
from labkit.formats._imb_layout import opening as opening
from labkit.formats._imb_layout import write as write
from labkit.formats._lines import is_damaged_row, is_row
from labkit.formats._table import TWO_DECIMALS, WHOLE, Lines, Meaning, Row, Table, bulk, in_parts
from labkit.spec import Reported

ENDLESS = 1 << 62  # rows
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
_NAME = re.compile(r"# Benchmarking (\S+)(?: (\(.+\)))?")
_RANKS = re.compile(r"# #processes = (\d{1,9})(?: \(threads: (\d{1,9})\))?(?:; rank order.*)?")
_GROUPS = re.compile(r"# \( (\d{1,9}) groups of (\d{1,9}) processes each running simultaneous \)")
_MODE = re.compile(r"# +MODE: (AGGREGATE|NON-AGGREGATE)")
_FAILED = re.compile(r" *(?:(\d{1,9}) +)?(\d{1,18}) ((?:out-of-mem\.|int-overflow|time-out\.).*)")
_CALL = re.compile(r"# ((?:\S*/)?IMB-\w+(?: .*)?)")  # the command line
_FACT = re.compile(r"# ([A-Za-z_][^:=]{1,40}?) *[:=] *(\S.*?)")
_CUT = (
    f"If the run stopped early, delete everything after its last complete table, write {END!r} there, and import again."
)
BEGINS, MARKS = r"# (?: +Intel ?\(R\) MPI Benchmark|Benchmarking \w)", (") MPI Benchmark", "# Benchmarking ")


def recognised(text: str) -> bool:
    """Whether a text is one of these."""
    return re.search(rf"^{BEGINS}", text, flags=re.MULTILINE) is not None


def lines_of(text: str | Iterable[str], where: str) -> Lines:
    """A text whose lines that are none of IMB's are left out."""
    return Lines(text, where, lambda line: line.split(maxsplit=1)[0] == "Group" or bool(_FAILED.fullmatch(line)))


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
    lines = lines_of(text, where)
    *before, last = tables(lines)
    return (*before, replace(last, closing=(*last.closing, *lines.kept), last=max(last.last, lines.taken)))


def tables(lines: Lines, most: int = ENDLESS) -> Iterator[Table]:
    """Tables one after the other; one with more rows than `most` comes in parts.

    Raises
    ------
    DataError
        As `parse`, once it is there.
    """
    title: tuple[str, str] | None = None
    found, inside, facts = False, 0, dict[str, str]()  # inside: tables of this run
    while (ahead := lines.ahead) is not None:
        if not ahead:
            lines.take()
            continue
        if begun := _TITLE.fullmatch(ahead):
            title, facts, inside = _begun(lines, begun, title, inside), {}, 0
            continue
        if _RULE.fullmatch(ahead):
            lines.take()
            if _NAME.fullmatch(lines.ahead or ""):
                for table in _test(lines, title, facts, most):
                    yield table
                    found, inside = True, inside + 1
            continue
        if ahead == END and title:
            title = None
        elif is_row(ahead) or _NAME.fullmatch(ahead) or _is_head(ahead):
            raise lines.wrong("a line of dashes and '# Benchmarking …' above")
        elif call := _CALL.fullmatch(ahead):
            facts["call"] = call[1]
        elif fact := _FACT.fullmatch(ahead):
            facts.setdefault(fact[1], fact[2])
        (lines.take if ahead.lstrip()[0] == "#" else lines.skip)()
    if title and title[0] != "IMB-MT":
        raise lines.wrong(f"{END!r}, with which IMB ends", _CUT)
    if not found:
        raise lines.none("a table below '# Benchmarking …'")


def _begun(lines: Lines, begun: re.Match[str], before: tuple[str, str] | None, inside: int) -> tuple[str, str]:
    """Part and version of the run that begins; the one before must have ended, unless its head was printed twice."""
    if before and before[0] != "IMB-MT" and inside:
        raise lines.wrong(f"{END!r} before the next run", _CUT)
    if begun[2] not in PARTS:
        raise lines.wrong(f"a part of {', '.join(PARTS)}")
    if before and not inside and before == (PARTS[begun[2]], begun[1]):
        lines.skip()
    else:
        lines.take()
    return PARTS[begun[2]], begun[1]


def _test(lines: Lines, title: tuple[str, str] | None, facts: dict[str, str], most: int) -> Iterator[Table]:
    """The table of one test; none where it had no successful execution, or its head comes once more."""
    name = _NAME.fullmatch(lines.take())
    assert name is not None
    parameters = dict(facts) | ({"grid": name[2]} if name[2] else {})
    while not _RULE.fullmatch(lines.ahead or ""):
        ahead = lines.ahead
        if ahead is None or is_row(ahead) or _NAME.fullmatch(ahead) or _is_head(ahead):
            raise lines.wrong("'# #processes = …' and a line of dashes")
        if ahead == "# NO SUCCESSFUL EXECUTIONS":
            lines.take()
            return
        if ahead and ahead.lstrip()[0] != "#":
            lines.skip()
            continue
        parameters |= _counts(ahead)
        lines.take()
    if "#processes" not in parameters or (title is None and "threads" not in parameters):
        raise lines.wrong(
            "'# #processes = …' above" if title else "'#    Intel(R) MPI Benchmarks …' above: no run began"
        )
    rule = lines.take()
    parameters |= _mode(lines)
    if _RULE.fullmatch(lines.past_blanks() or "") and lines.past_blanks() == rule:
        lines.skipped.add(name[0], lines.taken)  # the head of the same table follows
        return
    names, preamble = _head(lines), tuple(lines.kept)
    head = lines.take()
    part, version = title or ("IMB-MT", "")
    own = tuple(column for column in names if column != "#bytes")
    table = Table(f"{part} {name[1]}", name[1], version, parameters, own, (), preamble, head=head)
    yield from in_parts(table, _rows(lines, names, head, most), lines)


@lru_cache(256)
def _counts(line: str) -> dict[str, str]:
    """What a line below the name of a test tells, such as ranks, threads and groups."""
    if ranks := _RANKS.fullmatch(line):
        return {"#processes": ranks[1]} | ({"threads": ranks[2]} if ranks[2] else {})
    if groups := _GROUPS.fullmatch(line):
        return {"groups": groups[1], "#processes": groups[2]}
    fact = re.fullmatch(r"# (\w+) = (\d+)", line)
    return {fact[1]: fact[2]} if fact else {}


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


def _is_head(line: str) -> bool:
    """Whether a line names columns."""
    return "#repetitions" in line.split()


def _head(lines: Lines) -> tuple[str, ...]:
    """Names of the columns; the line is not taken."""
    names = tuple((lines.ahead or "").split())
    known = ("Group", "#bytes", "#repetitions", *_METRICS)
    if "#repetitions" not in names or len(names) < 2 or not set(names) <= set(known):
        raise lines.wrong(f"the names of columns, some of {', '.join(known)}")
    return names


def _rows(lines: Lines, names: Sequence[str], head: str, most: int) -> Iterator[tuple[Row, ...]]:
    """Rows below a head, some at a time; with groups, a blank line stands above those of each size."""
    forms = [WHOLE if name in _WHOLE else TWO_DECIMALS for name in names]
    count = 0
    while True:
        rows = bulk(lines, names, forms, "#bytes", most)
        while len(rows) < most and _row_follows(lines, names, head):
            rows.append(_row(lines, names, forms, head))
        count += len(rows)
        if rows:
            yield tuple(rows)
        if len(rows) < most:  # what follows is no row
            break
    if not count:
        raise lines.wrong("a row of the table")


def _row_follows(lines: Lines, names: Sequence[str], head: str) -> bool:
    """Whether there is another row."""
    return lines.row_follows(
        lambda line: _is_head(line) and line.split() == head.split(),
        lambda line: line.startswith("#"),
        lambda line: is_row(line) or is_damaged_row(line, len(names)) or _FAILED.fullmatch(line) is not None,
    )


def _row(lines: Lines, names: Sequence[str], forms: Sequence[str], head: str) -> Row:
    """The row ahead."""
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
    """What the columns of a table hold under labkit's names."""
    found = []
    for place, column in enumerate(table.columns):
        if column in _METRICS:
            name, unit, statistic = _METRICS[column]
            bandwidth = column == "Mbytes/sec"
            if column == "t[usec]" and table.test.startswith("IMB-P2P"):  # the mean over ranks there
                statistic = "osu_mean"
            known = METRICS[name].unit if name in METRICS else unit
            factor = _mega(table.version) if bandwidth else 1.0
            found.append(Meaning(place, name, known, statistic, factor, sized=bandwidth))
    return found


def reported(table: Table, row: Row) -> list[Reported]:
    """Values of a row under labkit's names, `defects` of IMB's check as its own; what is not finite is left out."""
    found = ((one, one.value(row)) for one in meanings(table))
    return [Reported(one.name, one.unit, one.statistic, value) for one, value in found if value is not None]


def _mega(version: str) -> float:
    """How many of 10^6 B make a Mbyte of that version."""
    year = re.match(r"\d+", version)
    return 1.0 if not year or int(year[0]) >= 2018 else 2**20 / 1e6


def size(table: Table, row: Row) -> int:
    """Size of one message, B: IMB-MT prints that of all threads together."""
    return (row.size or 0) // int(table.parameters.get("threads", 1) or 1)
