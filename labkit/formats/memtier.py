"""memtier_benchmark's table and JSON (``--json-out-file``): rates and latencies of sets, gets and both.

A latency runs from the write of a request, or of a pipeline of them, to its answer, in ms with three decimals, from an
HdrHistogram: `round_trip_us`. A connection asks again when it has its answers, unless ``--rate-limiting`` spaces them
out, so the tail hides waiting requests (coordinated omission). If there are several runs, labkit reads the section
``ALL STATS`` of a file, or the average in a table. A table may lack its title. The table names neither protocol nor
ratio, unless the command is above it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator

from labkit.formats import metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import SHOWN, SIZE_UNKNOWN, Lines, Log, Run, flat
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 1000.0  # prints ms with three decimals
_TABLE = re.compile(r"(?:ALL STATS|AGGREGATED AVERAGE RESULTS \(\d+ runs\))$")
_HEAD = re.compile(r"Type +Ops/sec ")
_BEGINS = re.compile(rf"\s*,?\s*\"ALL STATS\" ?: ?\{{ *$|{_TABLE.pattern}|{_HEAD.pattern}")
_ONE_OF_SEVERAL = re.compile(r"(?:BEST|WORST) RUN RESULTS *$")
_OPERATIONS = {"Sets": "SET", "Gets": "GET", "Waits": "WAIT", "Totals": "OVERALL"}
_LATENCIES = {"Average Latency": "mean", "Min Latency": "min", "Max Latency": "max"}
_PERCENTILE = re.compile(r"p(\d{1,2})\.(\d{1,4})")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per kind of operation that was done, and of all."""
    if not re.search(r"^\s*\{", text, re.MULTILINE):
        lines = Lines(text, where)
        for first, last, _ in lines.blocks(_TABLE):
            lines.need(_HEAD.pattern, first, last, "the head of the table, 'Type Ops/sec …',")
        tables = [run for head, last, _ in lines.blocks(_HEAD) for run in _table(lines, head, last)]
        if not tables and (totals := lines.find(r"Totals ", 1, len(lines))):
            raise lines.wrong(totals[0], "a rate above 0: memtier_benchmark had no answer")
        return tables
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


_COLUMN = re.compile(r"Type|Ops/sec|Hits/sec|Misses/sec|MOVED/sec|ASK/sec|(?:Avg\. |p[\d.]+ )?Latency|KB/sec")
_COUNT = r"(\d{{1,9}}) +{}$"
_COMMAND = re.compile(r"(?:^|[ /])memtier_benchmark +(-.*)$")
_FLAGS = {
    "protocol": r"(?:-P +|--protocol[ =])(\S+)",
    "ratio": r"--ratio[ =](\S+)",
    "pipeline": r"--pipeline[ =](\d{1,9})\b",
    "data_size": r"(?:-d +|--data-size[ =])(\d{1,9})\b",
}


def _table(lines: Lines, head: int, last: int) -> Iterator[Run]:
    """Read a table: a row for each kind of operation, latencies in ms."""
    columns = _COLUMN.findall(lines.texts[head - 1])
    above = list(reversed(lines.texts[: head - 1]))
    if _ONE_OF_SEVERAL.match(next((line for line in above if line.strip(" =")), "")):
        return
    above = list(itertools.takewhile(lambda line: not re.match(r"(?:Totals|SET|GET|WAIT) ", line), above))
    commands = {match[1] for line in above if (match := _COMMAND.search(line))}
    command = commands.pop() if len(commands) == 1 else ""
    told = {name: flag[1] for name, form in _FLAGS.items() if (flag := re.search(form, command))}
    counts = {
        name: next((int(match[1]) for line in above if (match := re.match(_COUNT.format(words), line))), 0)
        for name, words in (("clients", "Connections per thread"), ("threads", "Threads"))
    }
    options: dict[str, Scalar] = {name: told.get(name, "unknown") for name in ("protocol", "ratio")}
    options |= counts | {"pipeline": int(told.get("pipeline", 0)), "rate_limit": 0}
    end, _ = lines.need(r"Totals ", head, last, "the row 'Totals', which closes the table,")
    size = int(told.get("data_size", 0))
    for number in range(head + 1, end + 1):
        cells = lines.texts[number - 1].split()
        if not cells or not cells[0].isalpha():
            continue
        if len(cells) != len(columns):
            raise lines.wrong(number, f"{len(columns)} cells: {', '.join(columns)}")
        values = [
            (column, lines.number(cell, number))
            for column, cell in zip(columns[1:], cells[1:], strict=True)
            if cell != "---"
        ]
        if not dict(values).get("Ops/sec"):
            continue
        operation = _OPERATIONS.get(cells[0], cells[0].upper())
        doubts = [] if size else [SIZE_UNKNOWN]
        if operation != "OVERALL" and (missing := dict(values).get("Misses/sec")):
            doubts.append(note("missing-keys", f"{operation}: Misses/sec is {missing:g}", operation=operation))
        yield Run(
            test="memtier_benchmark",
            values=tuple(_of_columns(values)),
            line=number,
            size=size,
            options=options | {"operation": operation},
            doubts=tuple(doubts),
            source=lines.source(head, end),
        )


def _of_columns(cells: Iterable[tuple[str, float]]) -> Iterator[Reported]:
    """Yield the values of the cells of a row."""
    for column, value in cells:
        if column == "Ops/sec":
            yield metric("transaction_rate_per_s", "mean", value)
        elif column.endswith("Latency"):
            percent = column.partition(" ")[0].removeprefix("p")
            share = percent.rstrip("0").rstrip(".") if "." in percent else percent
            statistic = "mean" if column in ("Latency", "Avg. Latency") else "p" + share.replace(".", "")
            yield metric("round_trip_us", statistic, 1e3 * value)


def _doubts(part: Entry, operation: str) -> Iterator[Note]:
    """Yield what went wrong: connections that failed, gets that found no value."""
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


LOG = Log("memtier_benchmark", ("ALL STATS", "AGGREGATED AVERAGE RESULTS", "Ops/sec"), _BEGINS, runs)
