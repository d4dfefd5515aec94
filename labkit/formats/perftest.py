"""perftest's tables of latency and bandwidth, its list of every iteration (``-U``), and its JSON.

Latencies are one way as perftest defines them: half the round trip of send and write, the whole of read and atomic
(``print_report_lat``: ``rtt_factor``). Its table leaves out the two longest iterations: ``t_max`` is the second longest
of all, and the percentiles are ranks of the rest; its deviations are cut to whole µs, and their sum overflows, which
prints nan. The list of ``-U`` has every iteration but the first. Some versions write "MB/sec" for what is MiB/sec in
all of them (``format_factor``). With ``-C`` perftest prints cycles under the heading of µs: such output cannot be read.

If perftest could not calibrate its clock ("Correlation coefficient" on standard error), it prints infinite times and
rates of zero and exits with status 0. That is an error here; the remedy is to run again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.formats.reading.log import CUT, HEAD_MISSING, UNTITLED, Lines, Log, Run, inside, settings
from labkit.io.safe_read import once, plainly
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 10.0  # prints µs with two decimals
_WHAT = "perftest output"
_JSON = "perftest JSON"
_RULE = re.compile(r"-{60,}")
_COLUMN = re.compile(
    r"#bytes|#iterations|t_\w+\[usec\]|99(?:\.9)?% percentile\[usec\]|tps average|CPU_Util\[%+\]"
    r"|MsgRate(?: Port[12])?\[Mpps\]|BW (?:peak|average|min|Port[12])\[(?:MB|MiB|Gb)/sec\]"
)
_US = {"t_min": "min", "t_max": "max", "t_typical": "p50", "t_avg": "mean", "t_stdev": "stddev"}
_METRICS = {
    **{name: ("latency_us", statistic, 1.0) for name, statistic in _US.items()},
    "99% percentile": ("latency_us", "p99", 1.0),
    "99.9% percentile": ("latency_us", "p999", 1.0),
    "tps average": ("transaction_rate_per_s", "mean", 1.0),
    "MsgRate": ("message_rate_per_s", "mean", 1e6),
    "BW peak": ("bandwidth_MBps", "max", 1.0),
    "BW average": ("bandwidth_MBps", "mean", 1.0),
    "BW min": ("bandwidth_MBps", "min", 1.0),
}
_LATENCIES = re.compile(r"\s*\d{1,18}\s+\d{1,9}(?:\s+\d{1,12}\.\d\d){7}\s*")
_BANDWIDTHS = re.compile(r"\s*\d{1,18}\s+\d{1,12}(?:\s+\d{1,12}\.\d\d(?:\d{4})?){2}\s+\d{1,9}\.\d{6}\s*")
_OF_LATENCY = (
    *("#bytes", "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]", "t_stdev[usec]"),
    *("99% percentile[usec]", "99.9% percentile[usec]"),
)
_UNITS_MBPS = {"MB/sec": 2**20 / 1e6, "MiB/sec": 2**20 / 1e6, "Gb/sec": 125.0}
_IN_JSON = {
    "percentile_99": "99% percentile",
    "percentile_99.9": "99.9% percentile",
    "tps_average": "tps average",
    "BW_peak": "BW peak",
    "BW_average": "BW average",
}
Sizes = list[tuple[int, int, list[Reported]]]  # size, B; line; values
_NO_CLOCK = "a finite time and a rate above 0: perftest could not calibrate its clock. Run it again"


def parse(text: str, size: int | None = None) -> list[Reported]:
    """Parse every row of the table.

    Parameters
    ----------
    text : standard output of client or server.
    size : B that every row must have; None for any. perftest shortens messages that a UD datagram cannot hold.

    Returns
    -------
    ``latency_us`` with min, max, p50, mean, stddev, p99, p999, or of a run by time the mean and
    ``transaction_rate_per_s``; or ``bandwidth_MBps`` with max and mean, and ``message_rate_per_s``. Of a sweep
    (``-a``) each has the label ``message_size_B``. A peak or a bandwidth printed as 0.00 is left out: it was not
    computed, or is too small for two decimals.

    Raises
    ------
    DataError
        If there is no table, a row or the end of it is missing, sizes differ, or the clock was not calibrated.
    """
    lines = text.splitlines()
    by_size: dict[int, list[Reported]] = {}
    for bytes_, number, values in _sized(*_table(lines), lines, size):
        if bytes_ in by_size:
            raise malformed(_WHAT, number, lines[number - 1], "every size once")
        by_size[bytes_] = values
    if len(by_size) == 1:
        return next(iter(by_size.values()))
    return [
        Reported(v.name, v.unit, v.statistic, v.value, labels={"message_size_B": bytes_})
        for bytes_, values in by_size.items()
        for v in values
    ]


def samples(text: str) -> NDArray[np.int64]:
    """Parse every iteration of a latency test with ``-U``, one way as in the table, in order.

    Returns
    -------
    time_ns : (iterations - 1,), ns: perftest times from one post to the next. It prints six digits.

    Raises
    ------
    DataError
        If there is no such list or more than one, it is cut off or not of every iteration, or the clock was not
        calibrated.
    """
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("#, ")]
    if len(heads) != 1 or lines[heads[0]].strip() != "#, usec":
        raise malformed(_WHAT, 0, f"{len(heads)} lists of iterations", "one list in µs: run one size with -U")
    head, _, _, rows = _table(lines)
    if len(rows) != 1 or head < heads[0]:
        raise malformed(_WHAT, head + 1, lines[head], "one row of values below the list")
    wanted = int(_numbers(*rows[0], None)[1]) - 1
    times: list[float] = []
    for number, line in enumerate(lines[heads[0] + 1 :], heads[0] + 2):
        if _RULE.fullmatch(line.strip()):
            break
        if not (pair := re.fullmatch(r"(\d{1,18}), (\S+)", line)) or int(pair[1]) != len(times) + 1:
            raise malformed(_WHAT, number, line, f"'{len(times) + 1}, time in µs'")
        times.append(_number(pair[2], number, line))
        if not math.isfinite(times[-1]):
            raise malformed(_WHAT, number, line, _NO_CLOCK)
    if len(times) != wanted:
        raise malformed(_WHAT, 0, f"{len(times)} iterations", f"{wanted}: -H sorts and leaves two out, run with -U")
    return np.rint(np.array(times) * 1e3).astype(np.int64)


def parse_json(text: str, *, unit: str = "MiB/sec") -> list[Reported]:
    """Parse the file that ``--out_json`` writes; of a sweep it holds the last size alone.

    Parameters
    ----------
    text : standard JSON of version 6 and later, or the layout of 4.5, without quotes and with commas too many.
    unit : unit of the bandwidths, which the file does not state: ``Gb/sec`` with ``--report_gbits``.

    Returns
    -------
    As `parse`.

    Raises
    ------
    DataError
        If there are no results, the file is cut off, or the clock was not calibrated.
    """
    section = re.search(r'"?results"?\s*:\s*\{([^{}]*)\},?\s*\}\s*$', text)
    if not section:
        raise malformed(_JSON, 0, text[-100:] or "nothing", "a section 'results' and its end")
    line = 1 + text[: section.start()].count("\n")
    names = {_IN_JSON.get(name, name): _number(value, line, value) for name, value in _entries(section[1], line)}
    values = {f"{name}[{unit}]" if name.startswith("BW ") else name: value for name, value in names.items()}
    return _values({k: v for k, v in values.items() if k not in ("MsgSize", "n_iterations")}, line, section[0])


def _entries(section: str, line: int) -> Iterable[tuple[str, str]]:
    """Return the names and numbers of a JSON section, which may lack quotes and have a comma at its end."""
    pairs = []
    for entry in filter(str.strip, re.split(r',(?=\s*(?:["A-Za-z]|$))', section)):
        pair = re.fullmatch(r'\s*"?([\w.]+)"?\s*:\s*(\S+)\s*', entry)
        if not pair:
            raise malformed(_JSON, line, entry, "a name, a colon and a number")
        pairs.append((pair[1], pair[2]))
    try:
        return once(pairs).items()
    except ValueError as error:
        raise malformed(_JSON, line, plainly(error), "every key once") from error


def _table(lines: list[str], *, closed: bool = True) -> tuple[int, int, list[str], list[tuple[int, str]]]:
    """Return index of the last heading and of the rule that closes its table, names of columns, and numbered rows.

    perftest and the RDMA driver write messages between the rows, such as "Conflicting CPU frequency values"; a row
    begins with a number.

    Parameters
    ----------
    closed : whether there must be a rule; without one, the index is that of the last row.
    """
    heads = [number for number, line in enumerate(lines) if line.lstrip().startswith("#bytes")]
    if not heads and not closed and (shapes := [number for number, line in enumerate(lines) if _columns(line)]):
        found = [(number + 1, lines[number]) for number in shapes]
        return shapes[0], shapes[-1], list(_columns(lines[shapes[0]])), found
    if not heads:
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise malformed(_WHAT, 0, last, "a heading '#bytes …' (this is the last line): perftest failed")
    head = heads[-1]
    columns = _COLUMN.findall(lines[head])
    if columns[:2] != ["#bytes", "#iterations"] or _COLUMN.sub("", lines[head]).strip() or len(columns) < 3:
        raise malformed(_WHAT, head + 1, lines[head], "columns of a latency or bandwidth test of one port")
    end = next((n for n in range(head + 1, len(lines)) if _RULE.fullmatch(lines[n].strip())), None)
    if end is None and closed:
        raise malformed(_WHAT, len(lines), lines[-1], "the rule that closes the table: perftest failed or was stopped")
    texts = lines[head + 1 : end]
    rows = [(number, line) for number, line in enumerate(texts, head + 2) if re.match(r"\s*\d", line)]
    return head, end if end is not None else rows[-1][0] if rows else head, columns, rows


def _columns(row: str) -> tuple[str, ...]:
    """Return the columns of a row whose head is missing; none if the values do not show them.

    A latency has seven values in order. Of a bandwidth the rate of messages and the size give the unit.
    """
    cells = row.split()
    if _LATENCIES.fullmatch(row):
        least, most, typical, mean, _, p99, p999 = map(float, cells[2:])
        return _OF_LATENCY if 0 < least <= typical <= p99 <= p999 <= most and least <= mean <= most else ()
    if _BANDWIDTHS.fullmatch(row):
        peak, mean, rate = map(float, cells[2:])
        for unit in ("MB/sec", "Gb/sec"):
            expected = int(cells[0]) * rate / _UNITS_MBPS[unit]
            if mean > 0 and abs(mean - expected) <= 0.005 * expected + 0.0051 and (not peak or peak >= 0.99 * mean):
                return "#bytes", "#iterations", f"BW peak[{unit}]", f"BW average[{unit}]", "MsgRate[Mpps]"
    return ()


def _sized(
    head: int, end: int, columns: list[str], rows: list[tuple[int, str]], lines: list[str], size: int | None = None
) -> Sizes:
    """Return size, line and values of each row of a table; every row must have `size`, if one is given."""
    sizes: Sizes = []
    for number, line in rows:
        cells = _numbers(number, line, len(columns))
        bytes_, values = int(cells[0]), dict(zip(columns[2:], cells[2:], strict=True))
        if size not in (None, bytes_):
            raise malformed(_WHAT, number, line, f"a row of {size} B (a UD datagram holds one MTU)")
        sizes.append((bytes_, number, _values(values, number, line)))
    if not sizes:
        raise malformed(_WHAT, end + 1, lines[min(end, len(lines) - 1)], "a row of values: perftest failed")
    return sizes


def _numbers(number: int, line: str, count: int | None) -> list[float]:
    """Convert the cells of a row; the first two are whole numbers."""
    cells = line.split()
    if count not in (None, len(cells)) or not all(re.fullmatch(r"\d{1,18}", cell) for cell in [*cells, "", ""][:2]):
        raise malformed(_WHAT, number, line, "bytes, iterations and a number for every column")
    return [_number(cell, number, line) for cell in cells]


def _number(cell: str, number: int, line: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise malformed(_WHAT, number, line, "numbers") from None


def _values(row: dict[str, float], number: int, line: str) -> list[Reported]:
    """Convert one row to labkit's units, without the values that perftest did not compute."""
    if not all(math.isfinite(value) for name, value in row.items() if not name.startswith("t_stdev")):
        raise malformed(_WHAT, number, line, _NO_CLOCK)
    if not any(row.values()) or min(row.values()) < 0 or row.get("t_avg[usec]", row.get("t_avg", 1.0)) <= 0:
        raise malformed(_WHAT, number, line, _NO_CLOCK)
    values = []
    for column, value in row.items():
        name, _, unit = column.rstrip("]").partition("[")
        if name not in _METRICS:
            values.append(Reported(name, "%" if unit.startswith("%") else unit, "mean", value))
            continue
        metric_name, statistic, factor = _METRICS[name]
        dropped = not math.isfinite(value) or (value == 0 and metric_name == "bandwidth_MBps")
        if not dropped:
            values.append(metric(metric_name, statistic, value * factor * _UNITS_MBPS.get(unit, 1.0)))
    if not any(v.name in ("latency_us", "bandwidth_MBps", "message_rate_per_s") for v in values):
        raise DataError(f"{_WHAT}, line {number}: found {line.strip()[:200]!r}, wanted a latency or a rate.")
    return values


_BEGINS = re.compile(
    r" *(?P<what>RDMA_Write|RDMA_Read|Send(?: Raw Ethernet)?|Atomic (?:FETCH_AND_ADD|CMP_AND_SWAP)) "
    r"(?P<both>Bidirectional )?(?:Post List )?(?P<kind>Latency|BW) Test *$"
    r"|\s*\"?test\"?\s*: *\"?(?P<json>RDMA_Write|RDMA_Read|Send|Atomic\w*)_(?P<both_json>Bidirectional_)?"
    r"(?P<kind_json>Latency|BW)_Test|(?P<table> *#bytes +#iterations )"
)
_OPERATIONS = {"FETCH_AND_ADD": "fetch_and_add", "CMP_AND_SWAP": "compare_and_swap"}
_HEAD = {
    "qps": r" *Number of qps *: *(\d{1,9})",
    "tx_depth": r" *TX depth *: *(\d{1,9})",
    "mtu": r" *Mtu *: *(\d{1,6})\[B\]",
}


_COMMAND = re.compile(r"\bib_(write|read|send|atomic)_(?:bw|lat)\b")
_OF_COMMAND = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send", "atomic": "Atomic"}
_ABOVE = 30  # lines above a table that may name its command
_NO_NAME = note(
    "operation-unknown", "the log does not name the operation: write the command, such as ib_write_bw, above the table"
)
_PERIODS = note("periods", "rows of the same size are periods of one run (--run_infinitely), not launches")
_UNIT = note("unit-assumed", "the JSON does not name the unit of its bandwidths: MiB/s is assumed")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per size of each table.

    A table without the lines above it belongs to the command that was named last (``ib_write_bw``). The server of a
    test that reads or writes prints no table.
    """
    lines, made = Lines(text, where), []
    _unwrap(lines.texts)
    blocks = _blocks(lines)
    if len({bool(head and head["json"]) for _, _, head in blocks}) > 1:
        remedy = "Split it into one file with the text and one with the JSON."
        raise malformed(where, 0, "text and JSON of perftest", "the runs of one of them", remedy)
    tables = [block for block in blocks if _results(lines, *block[:2])]
    for first, last, head in tables or blocks:
        what, kind = _titled(head) if head else _named(lines, first)
        operation = _OPERATIONS.get(what.partition(" ")[2], "")
        options: dict[str, Scalar] = {"operation": operation} if operation else {}
        for name, pattern in _HEAD.items():
            if hit := lines.find(pattern, first, last):
                options[name] = int(hit[1][1])
        if head and (head["both"] or head["both_json"]):
            options["bidirectional"] = True
        if connection := lines.find(r" *Connection type *: *(\w{2,4})", first, last):
            options["connection"] = connection[1][1]
        stated = settings(re.sub(r'["{}]|,$', "", line) for line in _stating(lines, first, last))
        stated = {name: value for name, value in stated.items() if _AS_OPTIONS.get(name) not in options}
        if head and "Post List" in head[0]:
            stated.setdefault("post_list", "stated")
        json = bool(head and head["json"])
        sizes, doubts = _of_json(lines, first, last, kind) if json else _of_table(lines, first, last, kind)
        doubts += () if what else (_NO_NAME,)
        doubts += () if head or HEAD_MISSING in doubts else (UNTITLED,)
        for size, line, values in sizes:
            made.append(
                Run(
                    test=f"perftest {what.partition(' ')[0] or 'unnamed'} {kind}",
                    values=tuple(values),
                    line=line,
                    size=size,
                    options=options,
                    stated=stated,
                    parameters={name: str(value) for name, value in options.items()},
                    doubts=doubts,
                    source=lines.source(max(first, line - 30), line + 1),
                )
            )
    return made


_FOLDED = 4  # lines into which a mail program may fold one


def _unwrap(texts: list[str]) -> None:
    """Join heads and rows that were folded at the edge of a page; a blank line replaces each further part.

    A joined row counts only if its values agree, for two damaged rows must not become one.
    """
    for number, line in enumerate(texts):
        head = line.lstrip().startswith("#bytes")
        if not head and not re.match(r"\s*\d+(?:\s+\d[\d.]*)*\s*$", line):
            continue
        if _whole(line, head=head):
            continue
        for last in range(number + 2, min(number + 1 + _FOLDED, len(texts) + 1)):
            parts = texts[number:last]
            if not texts[last - 1].strip():
                break
            if _whole(whole := " ".join(map(str.strip, parts)), head=head):
                texts[number:last] = [whole, *[""] * (len(parts) - 1)]
                break


def _whole(line: str, *, head: bool) -> bool:
    """Return whether a line is a whole head or a whole row."""
    if not head:
        return bool(_columns(line))
    return ("average" in line and line.rstrip().endswith("]") and not _COLUMN.sub("", line).strip()) or "99.9%" in line


_AS_OPTIONS = {"number_of_qps": "qps", "tx_depth": "tx_depth", "mtu": "mtu", "connection_type": "connection"}
_RESULTS = re.compile(r"\s*(?:#bytes|#, |\"?results\"?\s*:)")


def _results(lines: Lines, first: int, last: int) -> int:
    """Return the line with which the results of a run begin; 0 if it has none."""
    rows = (number for number in range(first, last + 1) if _columns(lines.texts[number - 1]))
    found = lines.find(_RESULTS.pattern, first, last)
    return found[0] if found else next(rows, 0)


def _stating(lines: Lines, first: int, last: int) -> list[str]:
    """Return the lines of a run that state settings, which are those above its results."""
    return lines.texts[first - 1 : (_results(lines, first, last) or last + 1) - 1]


def _of_table(lines: Lines, first: int, last: int, kind: str) -> tuple[Sizes, tuple[Note, ...]]:
    """Return size, line and values of each row of a table, and what is doubtful about them."""
    texts = lines.texts[first - 1 : last]
    try:
        head, end, columns, rows = _table(texts, closed=False)
        if ("t_" in " ".join(columns)) != (kind == "Latency"):
            raise malformed(_WHAT, head + 1, texts[head], f"a table of the test {kind}")
        sizes = _sized(head, end, columns, rows, texts)
    except DataError as error:
        raise malformed(lines.where, first, texts[0], f"a whole run: {error.brief}") from error
    headless = rows[0][0] == head + 1
    closed = lines.find(_RULE.pattern, first + head + 1, last)
    repeated = len({size for size, _, _ in sizes}) < len(sizes)
    told = ((CUT, not closed), (_PERIODS, repeated), (HEAD_MISSING, headless))
    doubts = tuple(doubt for doubt, holds in told if holds)
    return [(size, first - 1 + number, values) for size, number, values in sizes], doubts


def _of_json(lines: Lines, first: int, last: int, kind: str) -> tuple[Sizes, tuple[Note, ...]]:
    """Return size, line and values of the one size of a JSON file, and what is doubtful about them."""
    number, size = lines.need(r'\s*"?MsgSize"?\s*: *(\d{1,18}),', first, last, "MsgSize")
    whole = inside(lines, 1, len(lines), parse_json)
    return [(int(size[1]), number, whole)], (_UNIT,) if kind == "BW" else ()


def _blocks(lines: Lines) -> list[tuple[int, int, re.Match[str] | None]]:
    """Return first and last line of each run, and its title; None for a table without a title."""
    starts: list[tuple[int, re.Match[str] | None]] = []
    titled, rows = False, -1  # rows: the last line with a row, or a blank line below
    for number, line in lines:
        if number > 1 and line == lines.texts[number - 2] and line.lstrip().startswith("#bytes"):
            rows = number  # the head of a second process
            continue
        if title := _BEGINS.match(line):
            starts.append((number, None if title["table"] else title))
            if title["table"] and titled:
                starts.pop()
            titled, rows = not title["table"], number
        elif _columns(line):
            if not titled and rows < number - 1:
                starts.append((number, None))
            titled, rows = False, number
        elif rows == number - 1 and not _COMMAND.search(line) and starts:
            rows = number
    ends = [number - 1 for number, _ in starts[1:]] + [len(lines)]
    return [(first, last, head) for (first, head), last in zip(starts, ends, strict=False)]


def _titled(head: re.Match[str]) -> tuple[str, str]:
    """Return operation and kind of a title."""
    what = head["what"] or head["json"].replace("_CMP", " CMP").replace("_FETCH", " FETCH")
    return what.replace("Send Raw Ethernet", "Raw_Ethernet"), head["kind"] or head["kind_json"]


def _named(lines: Lines, first: int) -> tuple[str, str]:
    """Return operation and kind of a table without a title; no operation if no line above names the command."""
    commands = _COMMAND.findall("\n".join(lines.texts[max(0, first - _ABOVE) : first - 1]))
    columns = lines.texts[first - 1] + " ".join(_columns(lines.texts[first - 1]))
    return _OF_COMMAND[commands[-1]] if commands else "", "Latency" if "t_" in columns else "BW"


LOG = Log("perftest", (" Test", "_Test", "#bytes "), _BEGINS, runs, rows=_columns)
