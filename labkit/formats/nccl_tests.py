"""Tables and JSON (``-J``) of nccl-tests and rccl-tests, out of place and in place.

``time`` is that of the whole loop over its iterations, by default the mean over ranks (``-a``). ``algbw`` is the size
over that time, in GB/s of 10^9 B; ``busbw`` is ``algbw`` times a factor of the collective (``doc/PERFORMANCE.md``).
The size is what ``doc/PERFORMANCE.md`` calls so: of all-gather and reduce-scatter the sum over ranks.

Versions before 2.13 do not print which collective ran. The factor and the reduction tell all-reduce (``2(n-1)/n``)
and reduce-scatter (``(n-1)/n``, with a reduction) from all others; labkit leaves the rest out, unless a line above
names the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from labkit.formats import malformed, metric
from labkit.formats._log import NUMBER, REMEDY, Lines, Log, Run, document, real, whole
from labkit.notes import Note, note
from labkit.spec import Reported, Scalar

_BEGINS = re.compile(
    r"#? +size +count +type +redop +(?:root +)?(?:cpu)?time +algbw +busbw |[^\n]{0,2000}\"average_bus_bandwidth\""
)
_HEAD = re.compile(r"#? +size +count +type +redop +(?:root +)?(?:cpu)?time +algbw +busbw ")
_ROW = re.compile(
    rf" +(\d{{1,18}}) +(\d{{1,18}}) +(\w+) +(\w+)(?: +(-?\d+))?((?: +(?:{NUMBER}|N/A)){{8,17}})(?: +\S.*)?$"
)
_PROGRAM = re.compile(r"(?:.*[/ ])?(\w+?)_perf(?:_mpi)?(?:\.exe)?(?: .*)?$")
_RANK = re.compile(r"#? +Rank +(\d{1,9}) ")
_NAMES = {"alltoall": "all_to_all", "alltoallv": "all_to_allv"}
_PLACES = ("out_of_place", "in_place")


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each size and place."""
    if re.match(r"\s*\{", text):
        return _json(document(text, where), where)
    lines, made = Lines(text, where), []
    heads = [number for number, line in lines if _HEAD.match(line)]
    starts = [1, *heads[:-1]]
    ends = [*(number - 1 for number in heads[1:]), len(lines)]
    for start, head, end in zip(starts, heads, ends, strict=True):
        made += _table(lines, start, head, end)
    return made


def _table(lines: Lines, start: int, head: int, end: int) -> list[Run]:
    """Read one table."""
    above = lines.texts[start - 1 : head]
    ranks = {int(match[1]) for line in above if (match := _RANK.match(line))}
    program = [match[1] for line in above if (match := _PROGRAM.match(line))]
    version = next((line.split()[3] for line in above if line.startswith("# nccl-tests version ")), "")
    names, rows = lines.texts[head - 1].replace("#", " ").split(), []
    every = names.count("i_min") == 2
    wide = 8 if every else 4  # columns of a place
    for number in range(head + 1, end + 1):
        line = lines.texts[number - 1]
        row = _ROW.match(line)
        if row:
            cells = row[6].split()
            if len(cells) != 2 * wide or ("root" in names) != (row[5] is not None):
                raise lines.wrong(number, f"{2 * wide} numbers behind the type and the reduction")
            rows.append((number, row, cells))
        elif rows and re.match(r" +\d", line):
            raise lines.wrong(number, "a row of size, count, type, reduction and numbers")
    if not rows:
        raise lines.wrong(head, "a row below the head")
    collective, doubts = _collective(lines, program, len(ranks), rows)
    if not ranks:
        doubts.append(note("ranks-unknown", "the log does not list the ranks"))
    made = []
    for number, row, cells in rows:
        for place, name in enumerate(_PLACES):
            part = cells[place * wide : (place + 1) * wide]
            if any(cell == "N/A" for cell in part[:3]) or not int(row[1]):
                continue
            values = _values(*(lines.number(cell, number) for cell in part[:3]))
            if every and "N/A" not in part[4:7]:
                times = zip(("min", "max", "p99"), part[4:7], strict=True)
                values += [metric("latency_us", s, lines.number(cell, number)) for s, cell in times]
            wrong = part[3] not in ("N/A", "0", "0e+00") and lines.number(part[3], number) > (0 if every else 1e-3)
            made.append(
                Run(
                    test=f"nccl-tests {collective}",
                    values=tuple(values),
                    line=number,
                    size=int(row[1]),
                    ranks=len(ranks),
                    options={"place": name.replace("_", " "), "datatype": row[3], "reduction": row[4]},
                    version=version,
                    verified=part[3] in ("0", "0e+00"),
                    doubts=(*doubts, *([note("wrong-bytes", "nccl-tests found wrong elements")] if wrong else [])),
                    source=lines.source(head, head) + lines.source(number, number),
                )
            )
    return made


def _values(time: float, algorithm: float, bus: float) -> list[Reported]:
    """Return the three numbers of a place."""
    return [
        metric("latency_us", "mean", time),
        metric("algbw_GBps", "mean", algorithm),
        metric("busbw_GBps", "mean", bus),
    ]


def _collective(
    lines: Lines, program: list[str], ranks: int, rows: list[tuple[int, re.Match[str], list[str]]]
) -> tuple[str, list[Note]]:
    """Return which collective ran: by the program's name, or where only one has such a factor and a reduction."""
    if program:
        return _NAMES.get(program[-1], program[-1]), []
    number, row, cells = rows[-1]
    algorithm, bus = (lines.number(cell, number) for cell in cells[1:3]) if "N/A" not in cells[1:3] else (0.0, 0.0)
    if ranks < 3 or algorithm < 0.5 or row[4] == "none":
        return "of a collective that the log does not name", []
    derived = note("collective-derived", "the log does not name the collective: it follows from busbw, algbw and ranks")
    for name, factor in (("all_reduce", 2 * (ranks - 1) / ranks), ("reduce_scatter", (ranks - 1) / ranks)):
        if abs(bus / algorithm - factor) < 0.02:
            return name, [derived]
    return "of a collective that the log does not name", []


def _json(text: Any, where: str) -> list[Run]:
    """Read the JSON file."""
    words = (
        " ".join(map(str, text.get("args", []))) if isinstance(text.get("args"), list) else str(text.get("args", ""))
    )
    program = re.search(r"(\w+?)_perf", words)
    devices = text.get("devices", [])
    made = []
    for number, row in enumerate(text["results"], 1):
        for name in _PLACES:
            part = row.get(name)
            if not isinstance(part, Mapping) or not whole(row["size"], "size", where):
                continue
            time = real(part.get("time", part.get("cpu_time")), "time", where)
            values = _values(time, real(part["alg_bw"], "alg_bw", where), real(part["bus_bw"], "bus_bw", where))
            each = row.get(f"{name}_per_iter")
            if isinstance(each, Mapping):
                keys = {"min": "min_us", "max": "max_us", "p50": "p50_us", "p95": "p95_us", "p99": "p99_us"}
                values += [metric("latency_us", s, real(each[key], key, where)) for s, key in keys.items()]
            wrong = part.get("nwrong")
            doubts = [note("wrong-bytes", "nccl-tests found wrong elements")] if wrong not in (None, 0, 0.0) else []
            options: dict[str, Scalar] = {"datatype": str(row["type"]), "reduction": str(row["redop"])}
            made.append(
                Run(
                    test=f"nccl-tests {_NAMES.get(program[1], program[1])}"
                    if program
                    else "nccl-tests of a collective that the log does not name",
                    values=tuple(values),
                    line=number,
                    size=whole(row["size"], "size", where),
                    ranks=len(devices) if isinstance(devices, list) else 0,
                    options={"place": name.replace("_", " ")} | options,
                    verified=wrong in (0, 0.0) and wrong is not None,
                    doubts=tuple(doubts),
                    source=str(row)[:2000],
                )
            )
    if not made:
        raise malformed(where, 0, str(text)[:80], "results with sizes, out_of_place or in_place", REMEDY)
    return made


LOG = Log("nccl-tests", (" algbw ", '"average_bus_bandwidth"'), _BEGINS, runs)
