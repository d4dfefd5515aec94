"""YCSB's measurements: its text, its JSON exporters, and the lines of go-ycsb.

A latency is that of one operation at the client, from the call to its return. ``Intended-`` latencies
(``measurement.interval=intended`` or ``both``, with ``-target``) count from the moment the operation was due: these
are `response_us`. ``CLEANUP`` and garbage collection are not operations. The overall throughput is operations over the
run time. A command line also names the records, and the workload if it is one of YCSB's own files.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from labkit.formats import malformed, metric
from labkit.formats.reading.json import document
from labkit.formats.reading.log import CUT, NUMBER, REMEDY, Lines, Log, Run, setting_name
from labkit.formats.reading.wrapped import documents
from labkit.point.notes import note
from labkit.point.spec import Reported

_BEGINS = re.compile(
    r"\[OVERALL\], (?:RunTime\(ms\)|Throughput\(ops/sec\)),"
    r"|\[? ?\{\s*\"metric\" ?: ?\"OVERALL\"|(?:TOTAL|READ|UPDATE|INSERT) *- Takes\(s\): "
    r"|[^\n]{0,40}\"metric\" ?: ?\"OVERALL\""
)

# operationproportions and requestdistribution of YCSB's files workloads/workloada to workloadf
WORKLOADS: Mapping[str, tuple[Mapping[str, float], str]] = {
    "A": ({"reads": 0.5, "updates": 0.5}, "zipfian"),
    "B": ({"reads": 0.95, "updates": 0.05}, "zipfian"),
    "C": ({"reads": 1.0}, "zipfian"),
    "D": ({"reads": 0.95, "inserts": 0.05}, "latest"),
    "E": ({"scans": 0.95, "inserts": 0.05}, "zipfian"),
    "F": ({"reads": 0.5, "read_modify_writes": 0.5}, "zipfian"),
}
CLOCK_NS = 1000.0  # counts whole µs
_LINE = re.compile(rf"\[([\w-]+)\], ([^,]+), ({NUMBER}|NaN)$")
_DAMAGED = re.compile(r"\[[A-Z-]+(?:\],(?! Return=)|\]?$)")
_GO = re.compile(r"([A-Z_]+) *- Takes\(s\): (\d+\.?\d*), Count: (\d+), OPS: (\d+\.?\d*), (Avg\(us\): .*)$")
_GO_PAIR = re.compile(r"(Avg|Min|Max|[\d.]+th)\(us\): (\d+(?:\.\d+)?)")
_GO_PAIRS = re.compile(rf"{_GO_PAIR.pattern}(?:, {_GO_PAIR.pattern})*")
_LATENCIES = {"AverageLatency(us)": "mean", "MinLatency(us)": "min", "MaxLatency(us)": "max"}
_PERCENTILE = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)(?:th)?Percentile(?:Latency)?\(us\)")
_NO_OPERATION = re.compile(r"(?:Intended-)?(?:OVERALL$|TOTAL_|CLEANUP)|.*-FAILED$|BATCH$")
_COMMAND = re.compile(r"Command line: (.*)$")
_OPTIONS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "records": (re.compile(r"-p recordcount=(\d{1,9})\b"), int),
    "workload": (re.compile(r"-P \S*workload([a-f])(?= |$)"), str.upper),
}
_OK = ("Return=OK", "Return=0")
Measured = tuple[int, str, str, float]  # line, operation, measurement, value


def runs(text: str, where: str) -> list[Run]:
    """Return one run of the whole, and one per kind of operation."""
    lines = Lines(text, where)
    of_go = _go(lines) if any(_GO.match(line) for line in lines.texts) else []
    if re.search(r"\"metric\" ?:", text):
        listed = [(k, *entry) for k, entry in enumerate(_json(text, where), 1)]
        return [run for part in _parted(listed) for run in _runs(part, "", "", where)]
    listed = []
    for number, line in lines:
        if match := _LINE.match(line):
            if match[3] != "NaN":  # the mean of no operation
                listed.append((number, match[1], match[2], lines.number(match[3], number)))
        elif _DAMAGED.match(line) or (line.startswith("[") and "Latency" in line and not line.startswith("[READ:")):
            raise lines.wrong(number, "[operation], measurement, number")
    parts = _parted(listed)
    version = next((line.rpartition(" ")[2] for line in lines.texts if line.startswith("YCSB Client ")), "")
    commands = [match[1] for line in lines.texts if (match := _COMMAND.match(line))]
    made = of_go
    for number, part in enumerate(parts):
        command = commands[number] if len(commands) == len(parts) else ""
        made += _runs(part, version, command, where)
    return sorted(made, key=lambda run: run.line) if of_go else made


def _parted(listed: list[Measured]) -> list[list[Measured]]:
    """Return the measurements of each run of the program, which begin with its run time."""
    starts = [place for place, one in enumerate(listed) if one[1:3] == ("OVERALL", "RunTime(ms)")]
    return [listed[start:end] for start, end in itertools.pairwise([*starts, len(listed)])]


def _json(text: str, where: str) -> Iterable[tuple[str, str, float]]:
    """Yield the measurements of JSON arrays, or of an object a line."""
    values = [document(text[first:last], where) for first, last in documents(text)[0]]
    for entry in itertools.chain.from_iterable(one.items() if isinstance(one.value, list) else [one] for one in values):
        value = entry["value"]
        if isinstance(value.value, int | float):
            yield str(entry["metric"].value), str(entry["measurement"].value), value.real()


def _runs(listed: list[Measured], version: str, command: str, where: str) -> list[Run]:
    """Make the runs of one run of the program."""
    whole: dict[str, tuple[int, float]] = {name: (k, value) for k, of, name, value in listed if of == "OVERALL"}
    if "Throughput(ops/sec)" not in whole or "RunTime(ms)" not in whole:
        first = listed[0][0] if listed else 0
        raise malformed(where, first, "no OVERALL throughput", "[OVERALL], Throughput(ops/sec)", REMEDY)
    line, rate = whole["Throughput(ops/sec)"]
    threads, target = (re.search(rf"-{word} (\d{{1,9}})\b", command) for word in ("threads", "target"))
    options: dict[str, Any] = {}
    if command:
        options = {"threads": int(threads[1]) if threads else 1, "target": int(target[1]) if target else 0}
        options |= {name: read(match[1]) for name, (form, read) in _OPTIONS.items() if (match := form.search(command))}
    parameters = {"command": command} if command else {}
    remarks = () if command else (note("command-unknown", "the file does not name threads and target"),)
    if rate <= 0:
        raise malformed(where, line, f"{rate}", "a throughput above 0", REMEDY)
    values = [metric("transaction_rate_per_s", "mean", rate)]
    if whole["RunTime(ms)"][1] > 0:
        values.append(metric("run_time_s", "value", whole["RunTime(ms)"][1] * 1e-3))
    given = re.findall(r"-p (\S+?)=(\S+)", command) + re.findall(r"-(db|P) (\S+)", command)
    stated = {setting_name(name): value for name, value in given if not name.endswith((".host", ".hosts", ".port"))}
    shared = Run(test="YCSB", values=tuple(values), line=line, stated=stated, parameters=parameters, version=version)
    shared = replace(shared, remarks=remarks)
    source = f"[OVERALL], Throughput(ops/sec), {rate}\n"
    made = [replace(shared, options=options | {"operation": "OVERALL"}, source=source)]
    rows_of: dict[str, list[Measured]] = {}
    for measured in listed:
        rows_of.setdefault(measured[1], []).append(measured)
    counted = _check(rows_of, where)
    for name, rows in rows_of.items():
        if _NO_OPERATION.match(name):
            continue
        latencies = _latencies(name, rows)
        if latencies:
            source = "".join(f"[{of}], {what}, {value}\n" for _, of, what, value in rows)[:2000]
            operation = name.removeprefix("Intended-")
            chosen = options | {"operation": operation, "interval": "intended" if name != operation else "operation"}
            doubts = tuple(
                note("failed-operations", f"{value:g} of {operation}: {what}", operation=operation)
                for _, _, what, value in rows
                if what.startswith("Return=") and what not in _OK
            )
            doubts += () if counted else (CUT,)
            one = replace(
                shared, values=tuple(latencies), line=rows[0][0], options=chosen, doubts=doubts, source=source
            )
            made.append(one)
    return made


def _check(rows_of: Mapping[str, Sequence[Measured]], where: str) -> bool:
    """Refuse a last operation with fewer lines than the others, or without its count of returns: the log is cut.

    Returns
    -------
    Whether any operation has its count of returns; of an excerpt none may have it.
    """
    told = {of: {what for *_, what, _ in rows if "Latency" in what} for of, rows in rows_of.items()}
    name, rows = list(rows_of.items())[-1]
    every = set[str]().union(*told.values())
    returns = {of for of, rows in rows_of.items() if any("Return=" in one[2] for one in rows)}
    counted = (
        name.startswith("Intended-") or _NO_OPERATION.match(name) or name in returns or (not returns and told[name])
    )
    if told[name] and (told[name] != every or not counted):
        lacking = min(every - told[name], default="Return=…")
        raise malformed(where, rows[-1][0], f"the end of {name}", f"its {lacking[:60]}: the log is cut", REMEDY)
    return bool(returns)


def _latencies(name: str, rows: list[Measured]) -> list[Reported]:
    """Return the latencies of one kind of operation; empty if it did none."""
    quantity = "response_us" if name.startswith("Intended-") else "round_trip_us"
    count = next((value for _, _, what, value in rows if what in ("Operations", "Count")), None)
    if count == 0:
        return []
    values = [Reported("operations", "", "total", count)] if count else []
    for _, _, what, value in rows:
        if statistic := _LATENCIES.get(what):
            values.append(metric(quantity, statistic, value))
        elif match := _PERCENTILE.fullmatch(what):
            values.append(metric(quantity, "p" + match[1].replace(".", ""), value))
    return values if any(value.name == quantity for value in values) else []


def _go(lines: Lines) -> list[Run]:
    """Read the final lines of go-ycsb."""
    end, _ = lines.need(r"Run finished", 1, len(lines), "'Run finished', below which the results are,")
    made = []
    for number, line in lines:
        match = _GO.match(line)
        if number > end and re.match(r"[A-Z_]+ *-(?: Takes|$)", line) and not (match and _GO_PAIRS.fullmatch(match[5])):
            raise lines.wrong(number, "operation, Takes(s), Count, OPS, and latencies with their names")
        if not match or number < end:
            continue
        values = [metric("transaction_rate_per_s", "mean", lines.number(match[4], number))]
        for word, text in _GO_PAIR.findall(match[5]):
            statistic = {"Avg": "mean", "Min": "min", "Max": "max"}.get(word, "p" + word[:-2].replace(".", ""))
            values.append(metric("round_trip_us", statistic, lines.number(text, number)))
        operation = "OVERALL" if match[1] == "TOTAL" else match[1]
        remark = note("command-unknown", "go-ycsb does not print threads and target")
        made.append(
            Run(
                test="go-ycsb",
                values=tuple(values),
                line=number,
                options={"operation": operation},
                remarks=(remark,),
                source=lines.source(number, number),
            )
        )
    return made


LOG = Log("YCSB", ("[OVERALL]", '"OVERALL"', "- Takes(s):"), _BEGINS, runs, joins=True)
