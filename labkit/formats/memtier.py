"""memtier_benchmark's JSON (``--json-out-file``): operations per second and latencies of sets, gets and both.

A latency runs from the write of a request, or of a pipeline of them, to its answer, in ms with three decimals, from an
HdrHistogram: `round_trip_us`. A connection asks again when it has its answers, unless ``--rate-limiting`` spaces them
out, so the tail hides what waits (coordinated omission). Of several runs, that is read which the file calls all
statistics (``ALL STATS``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.formats import malformed, metric
from labkit.formats._log import REMEDY, SHOWN, Log, Run, document, flat, real, whole
from labkit.notes import Note, note
from labkit.spec import Reported, Scalar

CLOCK_NS = 1000.0  # prints ms with three decimals
_BEGINS = re.compile(r"\s*,?\s*\"ALL STATS\" ?: ?\{ *$")
_OPERATIONS = {"Sets": "SET", "Gets": "GET", "Waits": "WAIT", "Totals": "OVERALL"}
_LATENCIES = {"Average Latency": "mean", "Min Latency": "min", "Max Latency": "max"}
_PERCENTILE = re.compile(r"p(\d{1,2})\.(\d{1,4})")


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each kind of operation that was done, and of all."""
    value = document(text, where)
    if not isinstance(value, Mapping) or not isinstance(value.get("ALL STATS"), Mapping):
        raise malformed(where, 0, str(value)[:80], "an object with 'ALL STATS'", REMEDY)
    given, statistics = value.get("configuration") or {}, value["ALL STATS"]
    options: dict[str, Scalar] = {
        "protocol": str(given.get("protocol", "unknown")),
        "ratio": str(given.get("ratio", "unknown")),
        **{name: whole(given.get(name, 0), name, where) for name in ("clients", "threads", "pipeline")},
        "rate_limit": whole(given.get("rate_limit", 0), "rate_limit", where),
    }
    made = []
    for number, (name, operation) in enumerate(_OPERATIONS.items(), 1):
        part = statistics.get(name)
        if not isinstance(part, Mapping) or not whole(part.get("Count", 0), f"{name}: Count", where):
            continue
        made.append(
            Run(
                test="memtier_benchmark",
                values=tuple(_values(part, name, where)),
                line=number,
                size=whole(given.get("data_size", 0), "data_size", where),
                options=options | {"operation": operation},
                stated=flat(given, *options, "data_size", "operation"),
                parameters={key: str(given[key]) for key in ("server", "key_pattern", "test_time") if key in given},
                doubts=tuple(_doubts(part, operation, where)),
                source=json.dumps({name: {k: v for k, v in part.items() if not isinstance(v, list)}})[:SHOWN],
            )
        )
    return made


def _doubts(part: Mapping[str, Any], operation: str, where: str) -> Iterator[Note]:
    """Yield what was not done as it should: connections that failed, gets that found no value."""
    for key, code in (("Connection Errors", "connection-errors"), ("Misses/sec", "missing-keys")):
        if operation != "OVERALL" and real(part.get(key, 0), key, where):
            yield note(code, f"{operation}: {key} is {part[key]:g}", operation=operation)


def _values(part: Mapping[str, Any], name: str, where: str) -> list[Reported]:
    """Return rate and latencies of one kind of operation."""
    values = [
        metric("transaction_rate_per_s", "mean", real(part["Ops/sec"], f"{name}: Ops/sec", where)),
        Reported("operations", "", "total", real(part["Count"], f"{name}: Count", where)),
    ]
    for key, statistic in _LATENCIES.items():
        if key in part:
            values.append(metric("round_trip_us", statistic, 1e3 * real(part[key], f"{name}: {key}", where)))
    for key, value in dict(part.get("Percentile Latencies") or {}).items():
        if match := _PERCENTILE.fullmatch(key):
            statistic = "p" + match[1] + match[2].rstrip("0")
            values.append(metric("round_trip_us", statistic, 1e3 * real(value, f"{name}: {key}", where)))
    return values


LOG = Log("memtier_benchmark", ('"ALL STATS"',), _BEGINS, runs)
