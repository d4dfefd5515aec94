"""IOR's summary of all tests (text, and ``-O summaryFormat=JSON``), and its repetitions; of IOR 2 to 4.

IOR inside IO500 prints no summary since version 3.4: there, the repetitions below ``Results:`` are read.

A bandwidth is the bytes of all tasks over the time from the first open to the last close (``ior-output.c``:
``bw_values``, ``results[i].write.time``), in MiB/s; here it is MB/s. IOPS are the same bytes over the transfer size
and the same time, so opening and closing count. The mean is that of the rates of the repetitions, which are repeats
inside one start.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean, pstdev
from typing import Any

from labkit.formats import _ior_rows, malformed
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import (
    CUT,
    HEAD_MISSING,
    MEAN_OF_RATES,
    REMEDY,
    UNTITLED,
    Lines,
    Log,
    Run,
    over_repeats,
    settings,
)
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 1e4  # prints s with five decimals
_JSON_CLOCK_NS = 1e5  # and with four in JSON

_BEGINS = re.compile(r'IOR-(\S+): MPI Coordinated Test of Parallel I/O|\s*"Command line": "\S*\bior\b')
_TEXT = re.compile(r"IOR-(\S+): MPI Coordinated Test of Parallel I/O")
_HEAD = re.compile(r"Operation +Max ?\(MiB\) +Min ?\(MiB\) +Mean ?\(MiB\) +Std ?Dev ")
_ROWS = re.compile(r"access +bw\(MiB/s\) ")  # head of the repetitions
_PAIR = re.compile(r"([A-Za-z][\w ]*?) *: *(.*)$")
_MIB = 2**20 / 1e6
_ACCESS = {"single-shared-file": "shared", "file-per-process": "file per process"}
_COLUMNS = {
    "numTasks": "#Tasks",
    "tasksPerNode": "tPN",
    "segmentCount": "segcnt",
    "repetitions": "reps",
    "filePerProc": "fPP",
    "transferSize": "xsize",
    "blockSize": "blksiz",
    **{f"bw{name}MIB": f"{name}(MiB)" for name in ("Max", "Min", "Mean")},
    **{f"OPs{name}": f"{name}(OPs)" for name in ("Max", "Min", "Mean")},
    "bwStdMIB": "StdDev",
    "MeanTime": "Mean(s)",
}
_STATED = {  # option → name in the JSON
    "tasks": "numTasks",
    "segments": "segmentCount",
    "clients per node": "tasksPerNode",
    "repetitions": "repetitions",
}
_NEEDED = ("bw(MiB/s)", "block(KiB)", "xfer(KiB)", "total(s)")
_KEPT = (
    "access",
    "type",
    "api",
    "ordering in a file",
    "segments",
    "nodes",
    "blocksize",
    "aggregate filesize",
    "stonewallingTime",
    "stoneWallingWearOut",
)


def runs(text: str, where: str) -> list[Run]:
    """Return one run per operation of each test."""
    if re.match(r"\s*\{", text):
        return _json(document(text, where))
    lines, made = Lines(text, where), []
    for first, last, version in lines.blocks(_TEXT):
        made += _block(lines, first, last, version[1])
    return made if any(map(_TEXT.match, lines.texts)) else _excerpt(lines)


def _excerpt(lines: Lines) -> list[Run]:
    """Read rows without the lines above them: with their head as ever, without it by their number of columns."""
    if head := lines.find(_HEAD.pattern, 1, len(lines)):
        return [replace(run, doubts=(UNTITLED,)) for run in _summary(lines, head[0], len(lines), "", [])]
    made = []
    for number, line in lines:
        names = _ior_rows.SUMMARY.get(len(line.split()))
        if names and _ior_rows.is_row(line):
            row = Entry(_row(lines, number, names), lines.where, REMEDY)
            made.append(replace(_run(row, {}, "", number, lines.source(number, number)), doubts=(HEAD_MISSING,)))
    return made or _ior_rows.results(lines)


def repetitions(text: str, operation: str, where: str) -> tuple[int, list[float]]:
    """Read the time of each repetition from the JSON summary of one test.

    Parameters
    ----------
    operation : ``write`` or ``read``.

    Returns
    -------
    Number of tasks, and times from the first open to the last close, s. These follow from the bandwidths, which have
    more digits than the times that IOR prints.

    Raises
    ------
    DataError
        If there are no repetitions of that operation, or one has no rate.
    """
    told = document(text, where)
    rows = [row for row in told.get("summary", []).items() if row.get("operation", "").value == operation]
    tests = told.get("tests", []).items()
    results = tests[0].get("Results", []).items() if tests else []
    rates = [row["bwMiB"].real() for row in results if row.get("access", "").value == operation]
    if len(rows) != 1 or not rates or min(rates) <= 0:
        raise malformed(where, 0, f"{len(rates)} rates", f"repetitions of {operation}, each with a rate", REMEDY)
    tasks, segments, block = (rows[0][name].whole() for name in ("numTasks", "segmentCount", "blockSize"))
    return tasks, [tasks * segments * block / 2**20 / rate for rate in rates]


def _block(lines: Lines, first: int, last: int, version: str) -> list[Run]:
    """Read one run of the program."""
    if not lines.find(_HEAD.pattern, first, last) and (rows := lines.find(_ROWS.pattern, first, last)):
        return [*_repeats(lines, first, rows[0], last, version)]
    head, _ = lines.need(_HEAD.pattern, first, last, "the summary of all tests")
    return _summary(lines, head, last, version, lines.texts[first - 1 : head - 1])


def _summary(lines: Lines, head: int, last: int, version: str, named: Sequence[str]) -> list[Run]:
    """Read the summary below its head; `named` are the lines with the settings."""
    names = _names(lines.texts[head - 1])
    told = {pair[1]: pair[2] for line in named if (pair := _PAIR.match(line)) and pair[1] in _KEPT}
    made: list[Run] = []
    for number in range(head + 1, last + 1):
        if not made and re.fullmatch(r"[- ]*", lines.texts[number - 1]):
            continue
        if not re.match(r"(?:write|read) ", lines.texts[number - 1]):
            if damaged := lines.find(r"(?:write|read) +\d+\.\d+ +\d+\.\d+ .* \d+ *(?:[A-Z]\w* +\d+)?$", number, last):
                raise lines.wrong(damaged[0], "this row directly below those of the summary")
            break
        row = _row(lines, number, names)
        run = _run(Entry(row, lines.where, REMEDY), told, version, number, lines.source(head, number))
        made.append(replace(run, stated=_stated(named)))
    if not made:
        raise lines.wrong(head + 1, "a row of write or read")
    return made


def _repeats(lines: Lines, first: int, head: int, last: int, version: str) -> Iterator[Run]:
    """Read the repetitions of a run that ends without a summary; all that it announces must be there."""
    named = lines.texts[first - 1 : head]
    every = {pair[1]: (number, pair[2]) for number, line in enumerate(named, first) if (pair := _PAIR.match(line))}
    if missing := [name for name in (*_STATED, "access", "xfersize", "blocksize") if name not in every]:
        raise lines.wrong(head, f"the option {missing[0]} above the results")
    whole = {key: lines.number(every[name][1], every[name][0]) for name, key in _STATED.items()}
    told = {name: text for name, (_, text) in every.items() if name in _KEPT}
    found = _results(lines, head, last)
    if not found or any(len(rows) != whole["repetitions"] for rows in found.values()):
        counts = ", ".join(f"{len(rows)} of {operation}" for operation, rows in found.items()) or "none"
        wanted = f"{whole['repetitions']:g} repetitions of each operation, but {counts}, or the summary of all tests"
        raise lines.wrong(last, wanted)
    for operation, rows in found.items():
        rates, times = ([row[column] for row in rows.values()] for column in ("bw(MiB/s)", "total(s)"))
        number, row = next(iter(rows.items()))
        values: dict[str, Any] = {
            **whole,
            "operation": operation,
            "API": every.get("api", (0, ""))[1],
            "filePerProc": float(_ACCESS.get(every["access"][1]) == "file per process"),
            "transferSize": _size(lines, *every["xfersize"], row["xfer(KiB)"]),
            "blockSize": _size(lines, *every["blocksize"], row["block(KiB)"]),
            **{f"bw{how}MIB": of(rates) for how, of in (("Max", max), ("Min", min), ("Mean", mean), ("Std", pstdev))},
            "MeanTime": mean(times),
        }
        run = _run(Entry(values, lines.where, REMEDY), told, version, number, lines.source(head, max(rows)))
        inside_io500 = "stoneWallingStatusFile=" in every.get("Command line", (0, ""))[1]
        yield replace(run, stated=_stated(named), doubts=() if inside_io500 else (CUT,))


def _results(lines: Lines, head: int, last: int) -> dict[str, dict[int, dict[str, float]]]:
    """Return the columns of each repetition by its line, of each operation."""
    names, found = lines.texts[head - 1].split(), dict[str, dict[int, dict[str, float]]]()
    if missing := [name for name in _NEEDED if name not in names]:
        raise lines.wrong(head, f"the column {missing[0]}")
    for number in range(head + 1, last + 1):
        cells = lines.texts[number - 1].split()
        if cells[:1] not in (["write"], ["read"]):
            continue
        if len(cells) != len(names):
            raise lines.wrong(number, f"{len(names)} columns, as the head has")
        row = dict(zip(names, cells, strict=True))
        found.setdefault(cells[0], {})[number] = {name: lines.number(row[name], number) for name in _NEEDED}
    return found


def _size(lines: Lines, number: int, stated: str, kib: float) -> float:
    """Return a size, B: from the options if these state it in bytes, else from its column, which rounds small ones."""
    if whole := re.fullmatch(r"([0-9]{1,18}) bytes", stated):
        return lines.number(whole[1], number)
    return round(kib * 1024)


def _names(head: str) -> list[str]:
    """Return the columns of the summary; IOR 2 has blanks in their names, and none for the last three."""
    if "Max (MiB)" not in head:
        return head.split()
    names = head.replace(" (", "(").replace("Std Dev", "StdDev").replace("Op grep ", "").split()
    return [*names, "test", "API", "RefNum"]


def _stated(named: Sequence[str]) -> dict[str, str]:
    """Return the settings of the section ``Options:`` and of the command line."""
    after = itertools.takewhile(lambda line: not line.startswith("Results"), named)
    found = settings(line for line in after if not line.startswith(("Machine", "Path", "FS", "StartTime", "TestID")))
    return {name: value for name, value in found.items() if name not in ("used_fs", "inodes", "used_inodes")}


def _row(lines: Lines, number: int, names: list[str]) -> dict[str, Any]:
    """Return a row of the summary by the names that the JSON has; of two columns of a name the first counts."""
    texts = lines.texts[number - 1].split()
    if len(texts) != len(names):
        raise lines.wrong(number, f"{len(names)} columns, as the head has")
    cells = dict(zip(reversed(names), reversed(texts), strict=True))
    told = {key: name for key, name in _COLUMNS.items() if name in cells or "OPs" not in name}
    if missing := [name for name in told.values() if name not in cells]:
        raise lines.wrong(number, f"the column {missing[0]}")
    row: dict[str, Any] = {key: lines.number(cells[name], number) for key, name in told.items()}
    return row | {"operation": texts[0], "API": cells.get("API", "")}


def _json(whole_text: Entry) -> list[Run]:
    """Read the summary of a JSON file."""
    version, made = str(whole_text.get("Version", "").value), []
    tests = whole_text.get("tests", []).items()
    options = tests[0].get("Options", {}).table() if tests else {}
    told = {key: str(value) for key, value in options.items() if key in _KEPT}
    for number, row in enumerate(whole_text["summary"].items(), 1):
        if row["operation"].value not in ("write", "read"):
            raise row["operation"].wrong("write or read")
        run = _run(row, told, version, number, str(row.value)[:2000])
        made.append(replace(run, clock_ns=_JSON_CLOCK_NS))
    return made


def _run(row: Entry, told: Mapping[str, str], version: str, number: int, source: str) -> Run:
    """Return the run of an operation."""

    def numbers(*names: str) -> list[float]:
        return [row[name].real() for name in names]

    repetitions, tasks, size = (row[name].whole() for name in ("repetitions", "numTasks", "transferSize"))
    rates = [value * _MIB for value in numbers("bwMaxMIB", "bwMinMIB", "bwMeanMIB")]
    if tasks < 1 or repetitions < 1 or rates[2] <= 0 or not rates[1] * 0.99 <= rates[2] <= rates[0] * 1.01:
        raise malformed(
            row.where, number, source[-120:], "tasks, repetitions, and a mean between least and greatest", REMEDY
        )
    (seconds,) = numbers("MeanTime")
    values = [*over_repeats("bandwidth_MBps", "MB/s", *rates)]
    if "OPsMax" in row:  # not before version 3.1
        values += over_repeats("iops_per_s", "1/s", *numbers("OPsMax", "OPsMin", "OPsMean"))
    values += [Reported("run_time_s", "s", "mean", seconds)] if seconds > 0 else []
    values.append(Reported("bandwidth_MBps", "MB/s", "stddev", numbers("bwStdMIB")[0] * _MIB))
    options: dict[str, Scalar] = {
        "operation": str(row["operation"].value),
        "api": str(row.get("API", "").value),
        "file": "file per process" if row["filePerProc"].whole() else "shared",
        "block_size": row["blockSize"].whole(),
        "segments": row["segmentCount"].whole(),
    }
    remark = note("repeats-in-a-start", f"{repetitions} repetitions inside one start", count=repetitions)
    return Run(
        test="IOR",
        values=tuple(values),
        line=number,
        size=size,
        ranks=tasks,
        options=options,
        parameters={**told, "tasks per node": str(row["tasksPerNode"].whole())},
        version=version,
        remarks=(remark, MEAN_OF_RATES) if repetitions > 1 else (),
        source=source,
    )


def _begins_excerpt(line: str) -> bool:
    return bool(_HEAD.match(line)) or _ior_rows.is_row(line)


LOG = Log("IOR", ("MPI Coordinated Test of Parallel I/O", '"Command line"'), _BEGINS, runs, rows=_begins_excerpt)
