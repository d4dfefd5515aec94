"""memtier_benchmark's JSON (``--json-out-file``): operations per second and latencies of sets, gets and both.

A latency runs from the write of a request, or of a pipeline of them, to its answer, in ms with three decimals, from an
HdrHistogram: `round_trip_us`. A connection asks again when it has its answers, unless ``--rate-limiting`` spaces them
out, so the tail hides what waits (coordinated omission). Of several runs, that is read which the file calls all
statistics (``ALL STATS``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from labkit.formats import metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import SHOWN, Log, Run, flat
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 1000.0  # prints ms with three decimals
_BEGINS = re.compile(r"\s*,?\s*\"ALL STATS\" ?: ?\{ *$")
_OPERATIONS = {"Sets": "SET", "Gets": "GET", "Waits": "WAIT", "Totals": "OVERALL"}
_LATENCIES = {"Average Latency": "mean", "Min Latency": "min", "Max Latency": "max"}
_PERCENTILE = re.compile(r"p(\d{1,2})\.(\d{1,4})")


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each kind of operation that was done, and of all."""
    value = document(text, where)
    asked, statistics = value.get("configuration", {}), value["ALL STATS"]
    given = asked.table()
    options: dict[str, Scalar] = {
        **{name: str(given.get(name, "unknown")) for name in ("protocol", "ratio")},
        **{name: asked.get(name, 0).whole() for name in ("clients", "threads", "pipeline", "rate_limit")},
    }
    made = []
    for number, (name, operation) in enumerate(_OPERATIONS.items(), 1):
        part = statistics.get(name, {})
        if not part.get("Count", 0).whole():
            continue
        made.append(
            Run(
                test="memtier_benchmark",
                values=tuple(_values(part)),
                line=number,
                size=asked.get("data_size", 0).whole(),
                options=options | {"operation": operation},
                stated=flat(given, *options, "data_size", "operation"),
                parameters={key: str(given[key]) for key in ("server", "key_pattern", "test_time") if key in given},
                doubts=tuple(_doubts(part, operation)),
                source=json.dumps({name: {k: v for k, v in part.table().items() if not isinstance(v, list)}})[:SHOWN],
            )
        )
    return made


def _doubts(part: Entry, operation: str) -> Iterator[Note]:
    """Yield what was not done as it should: connections that failed, gets that found no value."""
    for key, code in (("Connection Errors", "connection-errors"), ("Misses/sec", "missing-keys")):
        if operation != "OVERALL" and (count := part.get(key, 0).real()):
            yield note(code, f"{operation}: {key} is {count:g}", operation=operation)


def _values(part: Entry) -> list[Reported]:
    """Return rate and latencies of one kind of operation."""
    values = [
        metric("transaction_rate_per_s", "mean", part["Ops/sec"].real()),
        Reported("operations", "", "total", part["Count"].real()),
    ]
    for key, statistic in _LATENCIES.items():
        if key in part:
            values.append(metric("round_trip_us", statistic, 1e3 * part[key].real()))
    percentiles = part.get("Percentile Latencies", {})
    for key in percentiles.table():
        if match := _PERCENTILE.fullmatch(key):
            statistic = "p" + match[1] + match[2].rstrip("0")
            values.append(metric("round_trip_us", statistic, 1e3 * percentiles[key].real()))
    return values


LOG = Log("memtier_benchmark", ('"ALL STATS"',), _BEGINS, runs)
