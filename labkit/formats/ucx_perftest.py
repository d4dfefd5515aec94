"""ucx_perftest's table and its lines of comma-separated values (``-v``).

What it heads "MB/s" is MiB/s (``perftest.c``: bandwidth / 1024²). Times are half the round trip in ping-pong tests
(``UCX_PERF_TEST_TYPE_PINGPONG``), the whole of one operation in others, where the heading calls them overhead if
several are under way. "Average" covers what came after the last line of progress, "overall" everything: the mean here.
The percentile is one of the newest iterations alone (``timing_queue``).

The table's first heading says which line is the result (``perftest_run.c``: print_progress). Below "Stage" the result
begins with "Final:"; all other lines are progress, which begins with no word in a build without OpenMP.
Below "Test" (``-f``) the result is the only line. Versions before 1.9 have neither heading, print 0 for the percentile,
and their result looks like progress: the last line of a log is taken, with a warning.
"""

from __future__ import annotations

import math
import re
from functools import partial

from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.formats.reading.log import SIZE_UNKNOWN, Lines, Log, Run, inside, setting_name
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 1.0  # prints µs with three decimals
_WHAT = "ucx_perftest output"
_MIB = 2**20 / 1e6
_ROW = re.compile(r"(Final:)?((?:\s+\S+){8})\s*")
_TABLE = re.compile(r"\|\s*(latency|overhead) \(usec\)\s*\|\s*bandwidth \(MB/s\)\s*\|\s*message rate \(msg/s\)\s*\|")
_HEAD = re.compile(
    r"\|\s*(?:(Stage|Test)\s*\|\s*)?# iterations\s*\|\s*(?:([\d.]+)%ile|typical)\s*\|\s*average\s*\|\s*overall\s*\|"
)
_CSV = re.compile(
    r"iterations,(?:([\d.]+)_percentile|typical)_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
)

# a test of UCT with an operation, layout or size that the transport does not have
_UNFIT = re.compile(r"does not support operation|than (?:max|min) supported")
_OTHER_LAYOUT = "Set another layout or size: ucx_info -d lists what each transport supports."


def parse(text: str, *, latency: bool | None = None, marked: bool = True) -> list[Reported]:
    """Parse one test, over all of its iterations.

    Parameters
    ----------
    text : standard output of the client.
    latency : whether times are latencies; None to go by the heading. Comma-separated values are all headed so.
    marked : whether the heading must show which line is the result, as since UCX 1.9; else it is the last one.

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
    rank, kind, number, cells = _csv(lines) or _table(lines, marked=marked)
    values = [_number(cell, number, lines[number - 1]) for cell in cells]
    if len(values) != 8 or not all(math.isfinite(v) and v >= 0 for v in values) or not values[0] or not values[3]:
        raise malformed(_WHAT, number, lines[number - 1], "iterations, 3 times, 2 bandwidths and 2 rates, above 0")
    percentile = "p" + rank.rstrip("0").rstrip(".").replace(".", "")
    pairs = [(statistic, value) for statistic, value in ((percentile, values[1]), ("mean", values[3])) if value]
    if kind == "latency" if latency is None else latency:
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


def _table(lines: list[str], *, marked: bool) -> tuple[str, str, int, list[str]]:
    """Return percentile, kind, number and cells of the final line of the table."""
    last = next((line for line in reversed(lines) if line.strip()), "nothing")
    kind = next((match for line in lines if (match := _TABLE.search(line))), None)
    head = next((match for line in lines if (match := _HEAD.search(line))), None)
    if kind is None or head is None or (marked and not head[1]):
        wanted = "a heading with 'Stage' or 'Test' (this is the last line): it failed, or is older than UCX 1.9"
        raise malformed(_WHAT, 0, last, wanted)
    word = "Final:" if head[1] == "Stage" else None
    rows = [(number, row) for number, line in enumerate(lines, 1) if (row := _ROW.fullmatch(line))]
    finals = [(number, row[2].split()) for number, row in rows if row[1] == word]
    if not head[1]:
        finals = finals[-1:]
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


_UNNAMED = "ucx_perftest -v, which heads every time a latency"
_BEGINS = re.compile(
    r"\s*\|\s*(?:(?:Stage|Test)\s*\|\s*)?# iterations\s*\|"
    r"|iterations,(?:[\d.]+_percentile|typical)_lat,avg_lat,overall_lat,"
)
_RESULT = re.compile(r"(?:Final:|\[thread \d+\])?\s+\d+(?:\s+\S+){7}$|\d+,[\d.]+,")
_BOX = re.compile(r"\| ([A-Z][A-Za-z /]{1,40}): +(\S.*?) *\|$")
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
_UCT = "transport layer"  # as the box names the API; that of UCP is the protocol layer


def runs(text: str, where: str) -> list[Run]:
    """Return one run per table.

    A client prints neither test nor size; the server's box does, if the log has it. The box is above the head, or below
    it if client and server share a terminal.
    """
    lines, made, former = Lines(text, where), [], 0
    places = [number for number, line in lines if _BEGINS.match(line)]
    for number, place in enumerate(places):
        first = places[number - 1] + 1 if number else 1
        after = places[number + 1] - 4 if number + 1 < len(places) else len(lines)
        rows = [n for n in range(place + 1, after + 1) if _RESULT.match(lines.texts[n - 1])]
        last = rows[-1] if rows else after
        box = _boxes(lines.texts[former:place]) or _boxes(lines.texts[place:last])
        former = last  # a box behind the result belongs to the next table
        begin = max(first, place - 4)  # the heading has lines above the one that tells its kind
        plain = [line for line in lines.texts[begin - 1 : after] if not _BOX.match(line)]
        values = _values(lines, begin if box else max(1, place - 3), after, plain)
        unnamed = lines.texts[place - 1].startswith("iterations,") and not box
        size = int(box["Message size"]) if re.fullmatch(r"\d{1,18}", box.get("Message size", "")) else 0
        title = box.get("Test", "")
        operation = next((o for word, o in _OPERATIONS.items() if f"{title} ".startswith(f"{word} ")), "unknown")
        options = {"operation": operation}
        uct = box.get("API") == _UCT
        if uct:
            options["layout"] = box.get("Data layout", "unknown").replace(" ", "")
        kind = "latency" if any(value.name == "latency_us" for value in values) else "bandwidth"
        doubts = [] if size else [SIZE_UNKNOWN]
        if re.match(r"\s*\|\s*# iterations", lines.texts[place - 1]):
            doubts.append(note("final-unknown", "UCX before 1.9 does not mark its result: it is the last line here"))
        if not title:
            doubts.append(note("test-unknown", "ucx_perftest's client does not name the operation (tag, put, get, am)"))
        made.append(
            Run(
                test=f"ucx_perftest {'UCT ' if uct else ''}{kind}" if not unnamed else _UNNAMED,
                values=tuple(values),
                line=place,
                size=size,
                options=options,
                stated={setting_name(name): value for name, value in box.items() if name != "Message size"},
                parameters=box,
                doubts=tuple(doubts),
                source=lines.source(begin, after),
            )
        )
    return made


def _values(lines: Lines, first: int, last: int, plain: list[str]) -> list[Reported]:
    """Parse a table; skip a box between its lines."""
    if any(_BOX.match(line) for line in lines.texts[first - 1 : last]):
        try:
            return parse("".join(f"{line}\n" for line in plain), marked=False)
        except DataError as error:
            raise lines.wrong(first, f"a whole run: {error.brief}") from error
    return inside(lines, first, last, partial(parse, marked=False))


def _boxes(texts: list[str]) -> dict[str, str]:
    """Return the settings in a box of the server."""
    return {match[1]: match[2] for line in texts if (match := _BOX.match(line))}


LOG = Log("ucx_perftest", ("# iterations", "avg_lat,overall_lat"), _BEGINS, runs)
