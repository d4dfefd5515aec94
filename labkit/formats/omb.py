"""Tables of the OSU micro-benchmarks (OMB 7.4; osu_util_mpi.c prints them): read, and written in the same layout.

OMB counts 10^6 B to the MB and prints two decimals, so 0.26 µs is known to 2 % only. Collectives print the mean over
ranks of each rank's mean time (``osu_mean``), with -f the means of the fastest and the slowest rank. The percentiles of
-z are of iterations between two ranks, but of the rank-averaged iterations of a collective (``osu_p50``…), and those
of a bandwidth count from the slowest window upwards: OMB's P1 is the rate that 99 % of the windows exceed, which is
labkit's p99. A percentile for which there were too few iterations is printed as 0.00 and left out here.

Two pairs of programs cannot be told apart by their text: osu_bw_fan_in and osu_bw_fan_out print what osu_bw does, and
osu_neighbor_alltoallw has the title of osu_alltoallw, but a line on its graph before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from labkit.columns import METRICS
from labkit.formats._lines import is_row
from labkit.formats._omb_layout import write as write
from labkit.formats._omb_names import COLUMNS, PAIRS, TESTS, TITLES
from labkit.formats._omb_rows import ENDLESS, INVALID, MATRIX, OWN, matrix_rows, rows
from labkit.formats._table import Lines, Meaning, Row, Table, in_parts
from labkit.spec import Reported

_TAIL = re.compile(r"P(\d{1,2}) Tail (Lat\(us\)|BW\(MB/s\))")
_NAMES = "|".join([*map(re.escape, COLUMNS), "Iterations", "Validation", _TAIL.pattern])
_HEAD = re.compile(rf"# (?:Size )? *(?:{_NAMES})(?: +(?:{_NAMES}))*")
_TITLE = re.compile(r"# (OSU \S.*?)(?: v([\w.-]+))?")
_BEFORE = re.compile(r"# Number of .+|Dimensions size = .+|Time took to create topology graph:.+")
_ACCELERATOR = re.compile(r"-(CUDA MANAGED|CUDA|MANAGED|OPENACC|ROCM|CXL)\b")
_INIT = re.compile(r"nprocs: (\d{1,9}), min: (\d{1,18}) ms, max: (\d{1,18}) ms, avg: (\d{1,18}) ms")
_HELLO = re.compile(r"This is a test with (\d{1,9}) processes")
BEGINS, MARKS = r"# OSU ", ("# OSU ",)


def recognised(text: str) -> bool:
    """Whether a text is one of these."""
    return re.search(rf"^{BEGINS}", text, flags=re.MULTILINE) is not None


def lines_of(text: str | Iterable[str], where: str) -> Lines:
    """A text whose lines that are none of OMB's are left out."""
    return Lines(text, where, lambda line: line.startswith(OWN))


def parse(text: str, where: str = "OMB's output") -> tuple[Table, ...]:
    """Every table of a text with the output of one or more runs.

    Parameters
    ----------
    where : how errors call the text, such as its path.

    Raises
    ------
    DataError
        For a line that does not fit, or an end where there must be more; names line, found and wanted.
    """
    lines = lines_of(text, where)
    *before, last = tables(lines)
    closing = (*last.closing, *lines.kept)
    return (*before, replace(last, closing=closing, last=max(last.last, lines.taken)))


def tables(lines: Lines, most: int = ENDLESS) -> Iterator[Table]:
    """Tables one after the other; one with more rows than `most` comes in parts.

    Raises
    ------
    DataError
        As `parse`, once it is there.
    """
    found = False
    while lines.past_blanks() is not None:
        for table in _program(lines, most):
            yield table
            found = True
    while lines.ahead is not None:
        lines.take()
    if not found:
        raise lines.none("a line '# OSU …', as every program of OMB prints first")


def _program(lines: Lines, most: int) -> Iterator[Table]:
    """Tables of one program: one, or with ``-T all`` one for each datatype; none where only other text is left."""
    if not _to_title(lines):
        return
    found = _title(lines.ahead)
    assert found is not None
    title, version = found[1], found[2] or ""
    test = TESTS.get(_ACCELERATOR.sub("", title).lower(), "")
    if test == "osu_alltoallw" and any(line.startswith(("Dimensions", "Time took")) for line in lines.kept):
        test = "osu_neighbor_alltoallw"
    lines.take()
    while _title(lines.past_blanks()):
        _again(lines, found[0])
    if test in ("osu_init", "osu_hello"):
        yield _prose(lines, test, title, version)
        return
    types, before = set[str](), tuple[str, ...]()
    while not before or (lines.ahead or "").startswith("# Datatype: "):
        columns, parameters, head = _head(lines, first=not before)
        if before and parameters.get("Datatype", "") in types:
            raise lines.wrong("a line '# OSU …': the datatype is the same as before")
        if before and columns != before:
            raise lines.wrong(f"a line '# OSU …' above: other columns than before, {', '.join(before)}")
        before = columns
        types.add(parameters.get("Datatype", ""))
        matrix = bool(MATRIX.fullmatch(columns[0]))
        own = ("Window", "MB/s", "Messages/s") if matrix else tuple(name for name in columns if name != "Size")
        above = tuple(lines.kept[:-1])
        parts = matrix_rows(lines, columns) if matrix else rows(lines, columns, head, most)
        yield from in_parts(Table(test, title, version, parameters, own, (), above, head=head), parts, lines)


def _to_title(lines: Lines) -> bool:
    """Take lines up to a title; other text is left out. False at the end."""
    while (ahead := lines.ahead) is not None:
        if _title(ahead):
            return True
        if is_row(ahead) or _HEAD.fullmatch(ahead) or ahead.startswith(("# Datatype: ", *OWN[:2], INVALID)):
            raise lines.wrong("a line '# OSU …', as every program of OMB prints first")
        if not ahead or _BEFORE.fullmatch(ahead):
            lines.take()
        else:
            lines.skip()
    return False


def _again(lines: Lines, title: str) -> None:
    """Leave a title out that was printed twice."""
    lines.drop_blanks()
    if lines.ahead != title:
        raise lines.wrong("the names of the columns, as in '# Size  Avg Latency(us)'")
    lines.skip()


def _prose(lines: Lines, test: str, title: str, version: str) -> Table:
    """The one line that osu_init and osu_hello print."""
    form, wanted = {
        "osu_init": (_INIT, "'nprocs: N, min: N ms, max: N ms, avg: N ms'"),
        "osu_hello": (_HELLO, "'This is a test with N processes'"),
    }[test]
    found = form.fullmatch(lines.ahead or "")
    if not found:
        raise lines.wrong(wanted)
    above, text = tuple(lines.kept), lines.take()
    first, last, kept = lines.first, lines.taken, tuple(lines.kept)
    lines.mark()
    if test == "osu_hello":
        told = {"processes": found[1]}
        return Table(test, title, version, told, (), (), above, (text,), first=first, last=last, lines=kept)
    row = Row(None, tuple(int(text) for text in found.groups()[1:]), line=last, text=text)
    columns = ("min (ms)", "max (ms)", "avg (ms)")
    return Table(test, title, version, {"nprocs": found[1]}, columns, (row,), above, first=first, last=last, lines=kept)


def _head(lines: Lines, *, first: bool) -> tuple[tuple[str, ...], dict[str, str], str]:
    """Columns of a table, with `Size` where it has it, or the head of a matrix; what stands above; the line."""
    start = len(lines.kept)
    while True:
        ahead = lines.ahead
        if ahead is not None and _columns(ahead):
            break
        if ahead is None or _title(ahead) or is_row(ahead) or ahead.startswith(OWN):
            raise lines.wrong("the names of the columns, as in '# Size  Avg Latency(us)'")
        if not first and len(lines.kept) > start:
            raise lines.wrong("the names of the columns right below '# Datatype: …'")
        if ahead and not ahead.startswith("# "):
            lines.skip()
        else:
            lines.take()
    parameters = dict(_told(tuple(lines.kept)))
    head = lines.take()
    return _columns(head), parameters, lines.kept[-1] if lines.kept else head


def _title(line: str | None) -> re.Match[str] | None:
    """Title and version, where a line is a title."""
    return _TITLE.fullmatch(line) if line and line.startswith("# OSU ") else None


@lru_cache(256)
def _columns(line: str) -> tuple[str, ...]:
    """Columns that a line names, with `Size` where it has it, or the head of a matrix; none where it is no head."""
    if MATRIX.fullmatch(line):
        return (line,)
    if not _HEAD.fullmatch(line):
        return ()
    names = [found[0] for found in re.finditer(_NAMES, line)]
    return tuple(["Size", *names] if line.startswith("# Size") else names)


@lru_cache(256)
def _told(lines: tuple[str, ...]) -> Mapping[str, str]:
    """What the lines above a table tell."""
    above, found = [line.rstrip() for line in lines if line.rstrip()], dict[str, str]()
    for line in above:
        found |= {key.strip(): value.strip() for key, value in re.findall(r"\[ ([^:]+):([^]]+)\]", line)}
    for line in above:
        if pair := re.fullmatch(r"(?:# )?([^:=\[]{1,60}?)(?: ?:| =) +(.+?)\.?", line):
            found[pair[1]] = pair[2]
    return found


# ---- values ----------------------------------------------------------------------------------------------------


def meanings(table: Table) -> list[Meaning]:
    """What the columns of a table hold under labkit's names."""
    pairs, found = table.test in PAIRS and table.test != "osu_init", []
    for place, column in enumerate(table.columns):
        if column in ("Iterations", "Window", "Validation"):
            continue
        if tail := _TAIL.fullmatch(column):
            found.append(_percentile(place, int(tail[1]), tail[2], pairs))
            continue
        name, unit, statistic = COLUMNS[column]
        plain = statistic or ("mean" if pairs and not TITLES[table.test].startswith("OSU MPI_") else "osu_mean")
        found.append(Meaning(place, name, METRICS[name].unit if name in METRICS else unit, plain))
    return found


def _percentile(place: int, percent: int, kind: str, pairs: bool) -> Meaning:
    """A percentile of -z, counted from the fast side."""
    if kind.startswith("BW"):
        name, statistic = "bandwidth_MBps", f"p{100 - percent}"
    else:
        name, statistic = "latency_us", f"p{percent}" if pairs else f"osu_p{percent}"
    return Meaning(place, name, METRICS[name].unit, statistic, above_zero=True)


def reported(table: Table, row: Row) -> list[Reported]:
    """Values of a row under labkit's names.

    Returns
    -------
    Metrics as in `labkit.columns`, and OMB's own: ``init_us``, ``test_us`` and ``wait_us`` of non-blocking collectives
    with -f, ``init_ms``, ``transmit_size_B``. What is not finite is left out.
    """
    found = ((one, one.value(row)) for one in meanings(table))
    return [Reported(one.name, one.unit, one.statistic, value) for one, value in found if value is not None]
