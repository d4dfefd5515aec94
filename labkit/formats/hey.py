"""hey's summary: requests per second, and the time of one (rakyll/hey).

A worker of hey waits for each response before its next request, so the latencies are round trips with coordinated
omission, unless ``-q`` spaces the requests out. Times are in seconds with four decimals.
"""

from __future__ import annotations

import re

from labkit.formats import metric
from labkit.formats.reading.log import CUT, NUMBER, Lines, Log, Run
from labkit.point.notes import note

CLOCK_NS = 1e5  # prints s with four decimals
_BEGINS = re.compile(r"\s*Slowest:\s+[\d.]+ secs$")
_STATISTICS = {"Average": "mean", "Fastest": "min", "Slowest": "max"}
_SHARE = re.compile(rf"\s*(\d{{1,2}}(?:\.\d+)?)%+ in ({NUMBER}) secs$")
_BAR = re.compile(r"\s*\d+\.\d+ \[(\d{1,18})\]\t")  # of the histogram of response times
_STATUS = re.compile(r"\s*\[(\d{3})\]\s+(\d{1,18}) responses$")
_COMMAND = re.compile(r"(?:.*[/ ])?hey +(?=.*\S)(.*)$")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per summary."""
    lines = Lines(text, where)
    return [_run(lines, first, last) for first, last, _ in lines.blocks(_BEGINS)]


def _run(lines: Lines, first: int, last: int) -> Run:
    """Read one summary; its first line may be some lines above the slowest request."""
    at, rate = lines.need(rf"\s*Requests/sec:\s+({NUMBER})$", first, last, "a line 'Requests/sec: …'")
    values = [metric("transaction_rate_per_s", "mean", lines.number(rate[1], at))]
    for name, statistic in _STATISTICS.items():
        number, time = lines.need(rf"\s*{name}:\s+({NUMBER}) secs$", first, at, f"a line '{name}: …'")
        values.append(metric("round_trip_us", statistic, 1e6 * lines.number(time[1], number)))
    for number in range(at, last + 1):
        if (share := _SHARE.match(lines.texts[number - 1])) and float(share[2]) > 0:
            digits = share[1].rstrip("0").rstrip(".") if "." in share[1] else share[1]
            values.append(metric("round_trip_us", "p" + digits.replace(".", ""), 1e6 * float(share[2])))
        elif not share and re.match(r"\s*\d{1,2}(?:\.\d+)?%", lines.texts[number - 1]):
            raise lines.wrong(number, "a percentile, 'in', and its time in secs")
    answers = [row for line in lines.texts[at:last] if (row := _STATUS.match(line))]
    failed = sum(int(row[2]) for row in answers if row[1][0] not in "23")
    timed = sum(int(bar[1]) for line in lines.texts[at:last] if (bar := _BAR.match(line)))
    doubts = [] if answers and sum(int(row[2]) for row in answers) >= timed else [CUT]
    if failed:
        doubts.append(note("failed-requests", f"requests failed: {failed}"))
    command = next((match[1] for line in lines.texts[max(0, first - 6) : first] if (match := _COMMAND.match(line))), "")
    workers = re.search(r"-c +(\d{1,9})\b", command)
    return Run(
        test="hey",
        values=tuple(values),
        line=at,
        options={"connections": int(workers[1]) if workers else 0},
        doubts=tuple(doubts),
        source=lines.source(first, last),
    )


LOG = Log("hey", ("Slowest:",), _BEGINS, runs)
