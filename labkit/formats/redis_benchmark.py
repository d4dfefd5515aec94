"""redis-benchmark's CSV (``--csv``, from Redis 6.2 on): a line for each command, latencies in ms with three digits.

Its latency runs from the call that writes a request, or a pipeline of them, to the answer (``redis-benchmark.c``:
``latency = ustime() - c->start``), and comes from an HdrHistogram with three digits: `round_trip_us`. A client asks
again when it has its answer, so the tail hides what waits (coordinated omission).
"""

from __future__ import annotations

import csv
import math

from labkit.formats import malformed, metric
from labkit.spec import Reported

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
    _, *texts = next(csv.reader([lines[1]]))
    try:
        rate, *times = map(float, texts)
    except ValueError:
        times = []
    if len(times) != len(_STATISTICS) or not all(map(math.isfinite, (rate, *times))) or rate <= 0:
        raise malformed(_WHAT, 2, lines[1], "a rate above 0 and six latencies")
    latencies = (metric("round_trip_us", name, 1e3 * time) for name, time in zip(_STATISTICS, times, strict=True))
    return [metric("transaction_rate_per_s", "mean", rate), *latencies]
