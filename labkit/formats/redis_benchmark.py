"""redis-benchmark's CSV (``--csv``, from Redis 6.2 on): a line for each command, latencies in ms with three digits.

Its latency runs from the call that writes a request, or a pipeline of them, to the answer (``redis-benchmark.c``:
``latency = ustime() - c->start``), and comes from an HdrHistogram with three digits: `round_trip_us`. A client asks
again when it has its answer, so the tail hides what waits (coordinated omission). `labkit import` reads any number of
commands; the CSV names neither clients nor size, keys and pipeline.
"""

from __future__ import annotations

import csv
import math
import re

from labkit.formats import malformed, metric
from labkit.formats.reading.log import SIZE_UNKNOWN, Lines, Log, Run
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


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each command."""
    lines = Lines(text, where)
    made = []
    for first, last, _ in lines.blocks(_BEGINS):
        for number in range(first + 1, last + 1):
            if not lines.texts[number - 1].startswith('"'):
                continue
            command, values = _row(where, number, lines.texts[number - 1])
            made.append(
                Run(
                    test="redis-benchmark",
                    values=tuple(values),
                    line=number,
                    options={"command": command.lower()},
                    doubts=(SIZE_UNKNOWN,),
                    remarks=(note("command-unknown", "the file does not name clients, keys and pipeline"),),
                    source=lines.source(number, number),
                )
            )
    return made


_BEGINS = re.compile(re.escape(",".join(f'"{name}"' for name in _HEAD)) + "$")
LOG = Log("redis-benchmark", ('"test","rps",',), _BEGINS, runs)
