"""redis-benchmark's text, ``-q``, and CSV (from Redis 6.2 on): latencies of each command in ms with three digits.

Its latency runs from the call that writes a request, or a pipeline of them, to the answer (``redis-benchmark.c``:
``latency = ustime() - c->start``), and comes from an HdrHistogram with three digits: `round_trip_us`. A client asks
again when it has its answer, so the tail hides what waits (coordinated omission). `labkit import` reads any number of
commands; the CSV names neither clients nor size, keys and pipeline.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace

from labkit.formats import malformed, metric
from labkit.formats.reading.log import NUMBER, SIZE_UNKNOWN, Lines, Log, Run, setting_name
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 1000.0  # prints ms with three decimals
_WHAT = "redis-benchmark output"
_HEAD = ("test", "rps", *(f"{name}_latency_ms" for name in ("avg", "min", "p50", "p95", "p99", "max")))
_STATISTICS = ("mean", "min", "p50", "p95", "p99", "max")


def parse(text: str) -> list[Reported]:
    """Rate and latencies of the one command that ran.

    Returns
    -------
    ``transaction_rate_per_s`` and ``round_trip_us`` with mean, min, p50, p95, p99 and max.

    Raises
    ------
    DataError
        For an error that redis-benchmark printed, other columns, or none or several commands.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or tuple(next(csv.reader([lines[0]]))) != _HEAD:
        raise malformed(_WHAT, 1, lines[0] if lines else "nothing", ",".join(_HEAD))
    if len(lines) != 2:
        found = lines[2] if len(lines) > 2 else "no command"
        raise malformed(_WHAT, min(len(lines), 2) + 1, found, "the line of one command")
    return _row(_WHAT, 2, lines[1])[1]


def _row(where: str, number: int, line: str) -> tuple[str, list[Reported]]:
    """Return the command of a line, and its values."""
    command, *texts = next(csv.reader([line]))
    try:
        rate, *times = map(float, texts)
    except ValueError:
        times = []
    if len(times) != len(_STATISTICS) or not all(map(math.isfinite, (rate, *times))) or rate <= 0:
        raise malformed(where, number, line, "a command, a rate above 0 and six latencies")
    latencies = (metric("round_trip_us", name, 1e3 * time) for name, time in zip(_STATISTICS, times, strict=True))
    return command, [metric("transaction_rate_per_s", "mean", rate), *latencies]


_BLOCK = re.compile(r"====== (\S.*?) ======\s*$")
_COMPLETED = re.compile(r"\s*\d+ requests completed in [\d.]+ seconds$")  # the line below the command's name
# a command that was given has any words, and since 6.2 its line the median
_QUIET = re.compile(
    rf"\s*(?:([A-Z][\w() ]{{1,60}}): ({NUMBER}) requests per second\s*$"
    rf"|(\S[^\n]{{0,120}}?): ({NUMBER}) requests per second, p50=({NUMBER}) msec\s*$)"
)
_RATE = rf"\s*(?:throughput summary: )?({NUMBER}) requests per second$"
_CLIENTS, _PAYLOAD = r"\s*(\d{1,9}) parallel clients$", r"\s*(\d{1,12}) bytes payload$"
_SETTING = re.compile(r'\s*(keep alive|multi-thread|threads|host configuration "\w+"): *(\S.*)?$')
_NAMES = re.compile(r"\s*avg +min +p50 +p95 +p99 +max$")
_SIX = re.compile(rf"\s*({NUMBER})" + rf" +({NUMBER})" * 5 + "$")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per command: a line of the CSV, a block of the text, or a line of ``-q``."""
    lines = Lines(text, where)
    named = [one for one in lines.blocks(_BLOCK) if lines.find(_COMPLETED.pattern, one[0], min(one[0] + 1, one[1]))]
    made = [_block(lines, first, last, head[1]) for first, last, head in named]
    made += [_quiet(lines, number, row) for number, line in lines if (row := _QUIET.match(line))]
    for first, last, _ in lines.blocks(_CSV_BEGINS):
        for number in range(first + 1, last + 1):
            if lines.texts[number - 1].startswith('"'):
                command, values = _row(where, number, lines.texts[number - 1])
                made.append(_run(command, values, number, lines.source(number, number)))
    return sorted(made, key=lambda run: run.line)


def _block(lines: Lines, first: int, last: int, command: str) -> Run:
    """Read the block of a command; before version 6.2 it has shares of requests instead of latencies."""
    at, rate = lines.need(_RATE, first, last, "a line '… requests per second'")
    values = [metric("transaction_rate_per_s", "mean", lines.number(rate[1], at))]
    if names := lines.find(_NAMES.pattern, first, last):
        number, times = lines.need(_SIX.pattern, names[0] + 1, min(names[0] + 1, last), "six latencies")
        pairs = zip(("mean", "min", "p50", "p95", "p99", "max"), times.groups(), strict=True)
        values += [metric("round_trip_us", name, 1e3 * lines.number(time, number)) for name, time in pairs]
    elif "throughput summary" in lines.texts[at - 1]:
        raise lines.wrong(last, "the latency summary: the log is cut")
    size, clients = (lines.find(form, first, at) for form in (_PAYLOAD, _CLIENTS))
    run = _run(command, values, first, lines.source(first, first + 4), int(size[1][1]) if size else 0)
    told = filter(None, map(_SETTING.match, lines.texts[first:at]))
    run = replace(run, stated={setting_name(one[1]): (one[2] or "none")[:200] for one in told})
    return replace(run, options={**run.options, "clients": int(clients[1][1])}) if clients else run


def _quiet(lines: Lines, number: int, row: re.Match[str]) -> Run:
    """Read a line of ``-q``."""
    values = [metric("transaction_rate_per_s", "mean", lines.number(row[2] or row[4], number))]
    if row[5]:
        values.append(metric("round_trip_us", "p50", 1e3 * lines.number(row[5], number)))
    return _run(row[1] or row[3], values, number, lines.source(number, number))


def _run(command: str, values: list[Reported], line: int, source: str, size: int = 0) -> Run:
    """Return the run of a command."""
    return Run(
        test="redis-benchmark",
        values=tuple(values),
        line=line,
        size=size,
        options={"command": command.lower()},
        doubts=() if size else (SIZE_UNKNOWN,),
        remarks=(note("command-unknown", "the log does not name keys and pipeline, and its CSV no clients"),),
        source=source,
    )


_CSV_BEGINS = re.compile(re.escape(",".join(f'"{name}"' for name in _HEAD)) + "$")
_TITLED = rf"====== \S[^\n]{{0,120}}? ======[ \t]*(?=\r?\n{_COMPLETED.pattern})"  # the line above it names the command
_BEGINS = re.compile(f"{_CSV_BEGINS.pattern}|{_TITLED}|{_COMPLETED.pattern}|{_QUIET.pattern}")
LOG = Log("redis-benchmark", ('"test","rps",', " requests completed in ", " requests per second"), _BEGINS, runs)
