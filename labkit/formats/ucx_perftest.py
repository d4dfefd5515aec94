"""ucx_perftest's table and its lines of comma-separated values (``-v``).

What it heads "MB/s" is MiB/s (``perftest.c``: bandwidth / 1024²). Times are half the round trip in ping-pong tests
(``UCX_PERF_TEST_TYPE_PINGPONG``), and one whole operation in others. The heading calls them overhead if several
operations are in flight. "Average" covers what came after the last line of progress, "overall" everything: the mean
here. The percentile is one of the newest iterations alone (``timing_queue``).

The table's first heading shows which line is the result (``perftest_run.c``: print_progress). Below "Stage" the result
begins with "Final:"; all other lines are progress, which begins with no word in a build without OpenMP.
Below "Test" (``-f``) the result is the only line. Versions before 1.9 have neither heading, print 0 for the percentile,
and their result looks like progress: the last line of a log is taken, with a warning. The same applies to a run that
was stopped. A test of several threads prints four numbers as its result. With batch files (``-b``) a line names each
test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from labkit.formats import malformed, metric
from labkit.formats.reading.log import SIZE_UNKNOWN, Lines, Log, Run, setting_name, whole
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 1.0  # prints µs with three decimals
_WHAT = "ucx_perftest output"
_MIB = 2**20 / 1e6
_ROW = re.compile(r"(Final:)?((?:\s+\S+){8})\s*")
_TABLE = re.compile(r"\|\s*(latency|overhead) \(usec\)\s*\|\s*bandwidth \(MB/s\)\s*\|\s*message rate \(msg/s\)\s*\|")
_HEAD = re.compile(
    r"\|\s*(?:(Stage|Test)\s*\|\s*)?# iterations\s*\|\s*(?:(?P<rank>[\d.]+)%ile|typical)\s*\|\s*average\s*\|"
)
_CSV = re.compile(
    r"iterations,(?:([\d.]+)_percentile|typical)_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
)

# a test of UCT with an operation, layout or size that the transport does not have
_UNFIT = re.compile(r"does not support operation|than (?:max|min) supported")
_OTHER_LAYOUT = "Set another layout or size: ucx_info -d lists what each transport supports."


def parse(text: str, *, latency: bool | None = None) -> list[Reported]:
    """Parse one test, over all of its iterations.

    Parameters
    ----------
    text : standard output of the client.
    latency : whether times are latencies; None to go by the heading. Comma-separated values are all headed so.

    Returns
    -------
    ``latency_us`` with the percentile asked for (``-R``, else p50) unless it is 0, and the mean, or under
    ucx_perftest's own word ``overhead``; ``bandwidth_MBps`` and ``message_rate_per_s``, unless too small for the
    two decimals printed.

    Raises
    ------
    DataError
        For an error that UCX printed, a heading or final line that is missing or malformed, or a version before 1.9.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if " ERROR " in line:
            remedy = _OTHER_LAYOUT if _UNFIT.search(line) else ""
            raise malformed(_WHAT, number, line, "a result: UCX failed", remedy)
    rank, kind, number, cells = _csv(lines) or _table(lines)
    values = [_number(cell, number, lines[number - 1]) for cell in cells]
    if len(values) != 8 or not _possible(values):
        raise malformed(_WHAT, number, lines[number - 1], "iterations, 3 times, 2 bandwidths and 2 rates, above 0")
    return _reported(rank, kind == "latency" if latency is None else latency, values)


def _possible(values: Sequence[float]) -> bool:
    """Whether values form a row: iterations, percentile, two times, two bandwidths, two rates."""
    return all(math.isfinite(v) and v >= 0 for v in values) and bool(values[0] and values[3])


def _reported(rank: str, latency: bool, values: Sequence[float]) -> list[Reported]:
    """Return the values of a row in labkit's units; zeros are left out."""
    percentile = "p" + rank.rstrip("0").rstrip(".").replace(".", "")
    pairs = [(statistic, value) for statistic, value in ((percentile, values[1]), ("mean", values[3])) if value]
    if latency:
        times = [metric("latency_us", *pair) for pair in pairs]
    else:
        times = [Reported("overhead", "µs", *pair) for pair in pairs]
    rates = [metric("bandwidth_MBps", "mean", values[5] * _MIB), metric("message_rate_per_s", "mean", values[7])]
    return [*times, *(rate for rate in rates if rate.value)]


def _csv(lines: list[str]) -> tuple[str, str, int, list[str]] | None:
    """Return percentile, kind, number and cells of the last comma-separated line; None without a heading of such."""
    for number, line in enumerate(lines, 1):
        if head := _CSV.fullmatch(line.strip()):
            rows = [n for n in range(number + 1, len(lines) + 1) if lines[n - 1].strip()]
            if not rows:
                raise malformed(_WHAT, number, line, "a line of values below: ucx_perftest failed or was stopped")
            counts = [lines[n - 1].partition(",")[0].strip().zfill(30) for n in rows]
            for place in range(1, len(rows)):
                if counts[place] <= counts[place - 1]:  # without -f, a run prints a line with more iterations each time
                    raise malformed(_WHAT, rows[place], lines[rows[place] - 1], "more iterations than above: one run")
            return head[1] or "50.0", "latency", rows[-1], lines[rows[-1] - 1].split(",")
    return None


def _table(lines: list[str]) -> tuple[str, str, int, list[str]]:
    """Return percentile, kind, number and cells of the final line of the table."""
    last = next((line for line in reversed(lines) if line.strip()), "nothing")
    kind = next((match for line in lines if (match := _TABLE.search(line))), None)
    head = next((match for line in lines if (match := _HEAD.search(line))), None)
    if kind is None or head is None or not head[1]:
        wanted = "a heading with 'Stage' or 'Test' (this is the last line): it failed, or is older than UCX 1.9"
        raise malformed(_WHAT, 0, last, wanted)
    word = "Final:" if head[1] == "Stage" else None
    rows = [(number, row) for number, line in enumerate(lines, 1) if (row := _ROW.fullmatch(line))]
    finals = [(number, row[2].split()) for number, row in rows if row[1] == word]
    if len(finals) != 1:
        wanted = f"one final line{f', which begins with {word!r}' if word else ''}"
        raise malformed(_WHAT, 0, last, f"{wanted} (this is the last line): it failed, or was stopped")
    number, cells = finals[0]
    return head[2] or "50.0", kind[1], number, cells


def _number(cell: str, number: int, line: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise malformed(_WHAT, number, line, "numbers") from None


_WHOLE = r"\s+(?:\d{1,3}(?:,\d{3})+|\d{1,18})"  # -N writes marks between thousands
_TIME = r"\s+\d{1,12}\.\d{1,3}"
_CELLS = rf"(?P<cells>{_WHOLE}(?:(?:{_TIME}){{5}}(?:{_WHOLE}){{2}}|(?:{_TIME}){{2}}{_WHOLE}))"
_LINE = re.compile(
    rf"(?:(?P<final>Final:)|(?P<thread>\[thread \d+\])|(?P<test>[A-Za-z][\w./-]*|\d+/[\w./-]+))?{_CELLS}(?:  .*)?$"
)
_LISTED = re.compile(r"(?P<names>(?:[\w./-]+,)*?)(?P<values>\d{1,18}(?:,\d{1,15}\.\d{2,3}){5},\d{1,18},\d{1,18})$")
_LIST = re.compile(
    r"(?:[\w.-]+,)*iterations,(?:(?P<rank>[\d.]+)_percentile|typical)_lat,avg_lat,overall_lat,avg_bw,overall_bw,"
)
_BEGINS = re.compile(rf"\s*\|\s*(?:(?:Stage|Test)\s*\|\s*)?# iterations\s*\||{_LIST.pattern}")
_BATCH = re.compile(r"(?:\+|=+ )(?P<name>[A-Za-z0-9][\w./]*)(?:-+\+[-+]*| =+)$")  # stands above a test of a batch file
_BOX = re.compile(r"\| ([A-Z][A-Za-z /]{1,40}): +(\S.*?) *\|$")
_COMMAND = re.compile(r".*\bucx_perftest\b(?P<options>.* -t +\S.*)")
# what a title begins with → operation; a longer begin first
_OPERATIONS = {
    "tag sync": "tag_sync",
    "tag": "tag",
    "put": "put",
    "get": "get",
    "am": "am",
    "active message": "am",
    "stream": "stream",
    "atomic add": "add",
    "atomic fetch-and-add": "fadd",
    "atomic swap": "swap",
    "atomic compare-and-swap": "cswap",
}
# words of the name of a test, as after -t; labels of batch files contain them
_WORD = re.compile(r"(?:^|_)(tag_sync|tag|put|get|am|stream|fadd|cswap|swap|add)(?=_|$)")
_KIND = re.compile(r"(?:_(lat)|_bw|_mr)(?=_|$)")
_OF_UCT = {"am_lat", "am_bw", "put_lat", "put_bw", "get", "add_lat", "add_mr", "fadd", "swap", "cswap"}
_UCT = "transport layer"  # as the box names the API; UCP is the protocol layer
_FINAL = note(
    "final-unknown",
    "UCX before 1.9 does not mark its result, which is the last line here, and heads the times of all tests latencies",
)
_STOPPED = note(
    "stopped", "the run ends without its result: labkit took the last line of progress, over all until there"
)
_NO_TEST = note("test-unknown", "the log does not name the operation (tag, put, get, am)")
_SIZED = note("size-derived", "the log does not state the message size: bandwidth over message rate gives it")


@dataclass
class _Test:
    """What the lines above a row tell about it.

    Parameters
    ----------
    head : with the names of the columns, if there is one; and its line.
    kind : kind of the times: ``latency``, ``overhead``, or empty if no heading tells.
    box : settings in a box of the server, and its last line.
    name : name of the test: after ``-t``, or of a line of a batch file.
    size : B; 0 if none is stated.
    begin : its first line.
    """

    head: re.Match[str] | None = None
    kind: str = ""
    box: dict[str, str] = field(default_factory=dict)
    boxed: int = 0
    name: str = ""
    size: int = 0
    begin: int = 0


def runs(text: str, where: str) -> list[Run]:
    """Return one run per result.

    A client prints neither test nor size; the server's box does, if the log has it. The box is above the head, or below
    it if client and server share a terminal. A command with ``-t``, and the names of a batch file, tell the test too.
    """
    lines, made, test = Lines(text, where), list[Run](), _Test()
    waiting: tuple[int, list[str], str] | None = None  # the last line of progress
    for number, line in [*lines, (len(lines) + 1, "+end-+")]:
        row = _row(line)
        command, batch, title = _COMMAND.match(line), _BATCH.match(line), _TABLE.search(line)
        ends = command or batch or title or _LIST.match(line)
        if waiting and (ends or (row and not row[2] and _LISTED.match(line) and _other(row, waiting))):
            made.append(_run(lines, test, *waiting, final=False))
            waiting = None
        if command:
            test = _Test(name=_option(command["options"], "t"), begin=number)
            test.size = whole(_option(command["options"], "s"))
        elif batch:
            test.name, test.size = batch["name"], 0
        elif title:
            box = test.box if not made or test.boxed > made[-1].line else {}
            test = replace(test, head=None, kind=title[1], box=box, begin=number)
        elif head := _HEAD.search(line) or _LIST.match(line):
            test.head = head
        elif boxed := _BOX.match(line):
            box = {} if boxed[1] in test.box else test.box
            test = replace(test, box=box | {boxed[1]: boxed[2]}, boxed=number)
        elif row:
            cells, name, final = row
            if final or (test.head and test.head.re is _HEAD and test.head[1] == "Test"):
                made.append(_run(lines, test, number, cells, name, final=True))
                waiting = None
            else:
                waiting = number, cells, name
    failed = next((number for number, line in lines if " ERROR " in line), 0)
    if failed and not made:
        raise lines.wrong(failed, "a result: UCX failed")
    return made


def _other(row: tuple[list[str], str, bool], waiting: tuple[int, list[str], str]) -> bool:
    """Whether a comma-separated row is of another test than the row above, or of another run."""
    return row[1] != waiting[2] or float(row[0][0]) <= float(waiting[1][0])


def _option(words: str, letter: str) -> str:
    """Return the value of an option of a command; empty if it has none."""
    found = re.search(rf" -{letter} *([^\s-]\S*)", words)
    return found[1] if found else ""


def _row(line: str) -> tuple[list[str], str, bool] | None:
    """Return the cells of a row, the name of its test, and whether it is marked as final; None for another line."""
    if listed := _LISTED.match(line):
        return listed["values"].split(","), listed["names"].rstrip(","), False
    if not (row := _LINE.match(line)) or not (row["final"] or row["cells"][0].isspace()):
        return None
    cells = [cell.replace(",", "") for cell in row["cells"].split()]
    if len(cells) == 4:  # of several threads
        if not row["final"]:
            return None
        count, time, bandwidth, rate = cells
        cells = [count, "0", time, time, bandwidth, bandwidth, rate, rate]
    return cells, row["test"] or "", bool(row["final"])


def _run(lines: Lines, test: _Test, number: int, cells: list[str], name: str, *, final: bool) -> Run:
    """Return the run of a row."""
    values = [lines.number(cell, number) for cell in cells]
    if not _possible(values):
        raise lines.wrong(number, "iterations, 3 times, 2 bandwidths and 2 rates, above 0")
    labels = re.split("[,/]", name or test.name)
    named = next((label for label in labels if _WORD.search(label)), "")
    title, uct = test.box.get("Test", ""), test.box.get("API") == _UCT or (not test.box and named in _OF_UCT)
    operation = next((o for word, o in _OPERATIONS.items() if f"{title} ".startswith(f"{word} ")), "")
    if not operation and (word := _WORD.search(named)):
        operation = word[1]
    kind = _kind(title, named) or test.kind
    if not kind:
        wanted = "above it the heading 'latency (usec)' or 'overhead (usec)', or the command with -t, such as tag_lat"
        raise lines.wrong(number, wanted)
    size, derived = _size(test, labels, values)
    options: dict[str, Scalar] = {"operation": operation or "unknown"}
    if uct:
        options["layout"] = test.box.get("Data layout", "unknown").replace(" ", "")
    marked = test.head is None or test.head.re is _LIST or test.head[1]
    notes = {
        SIZE_UNKNOWN: not size,
        _SIZED: derived,
        _FINAL: not marked,
        _STOPPED: not final and marked and not _LISTED.match(lines.texts[number - 1]),
        _NO_TEST: not operation,
    }
    rank = (test.head["rank"] if test.head else "") or "50.0"
    return Run(
        test=f"ucx_perftest {'UCT ' if uct else ''}{'latency' if kind == 'latency' else 'bandwidth'}",
        values=tuple(_reported(rank, kind == "latency", values)),
        line=number,
        size=size,
        options=options,
        stated={setting_name(key): value for key, value in test.box.items() if key != "Message size"},
        parameters=test.box,
        doubts=tuple(doubt for doubt, holds in notes.items() if holds),
        source=lines.source(test.begin or number, min(number, len(lines))),
    )


def _kind(title: str, name: str) -> str:
    """Return the kind of times of a test; empty if neither the title in its box nor its name shows it."""
    words = {word for word in ("latency", "bandwidth") if word in title}
    if len(words) == 1:
        return "latency" if "latency" in words else "overhead"
    kind = _KIND.search(name)
    return "" if not kind else "latency" if kind[1] else "overhead"


def _size(test: _Test, labels: list[str], values: list[float]) -> tuple[int, bool]:
    """Return the message size, B, and whether it is derived; 0 if nothing tells it.

    Bandwidth is message rate times size; both are rounded. The size of a command must fit, for the row may belong to
    another one. A power of 2 follows if no other whole number fits.
    """
    boxed = test.box.get("Message size", "")
    if re.fullmatch(r"\d{1,18}", boxed):
        return int(boxed), False
    bandwidth, rate = values[5] * 2**20, values[7]
    if not rate:
        return test.size, False
    least, most = (bandwidth - 0.0051 * 2**20) / (rate + 0.5), (bandwidth + 0.0051 * 2**20) / max(rate - 0.5, 1e-9)
    told = [test.size, *(int(label) for label in labels if re.fullmatch(r"\d{1,12}", label))]
    if fitting := [size for size in told if size and 0.99 * least <= size <= 1.01 * most]:
        return fitting[0], False
    size = math.floor(most)
    return (size, True) if size == math.ceil(least) > 0 == size & (size - 1) else (0, False)


def _is_row(line: str) -> bool:
    """Whether a line is a result without the heads of the table."""
    row = _LINE.match(line)
    return bool(row and (row["final"] or row["thread"]))


LOG = Log("ucx_perftest", ("# iterations", "avg_lat,overall_lat"), _BEGINS, runs, rows=_is_row)
