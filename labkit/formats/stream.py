"""STREAM's table of four kernels (stream.c 5.x by McCalpin, also built for OpenMP, and NVIDIA's on a GPU).

The rate is bytes over the *shortest* time of the repetitions, the first left out (``stream.c``: ``1.0E-06 *
bytes[j]/mintime[j]``), in MB/s of 10^6 B: it is kept as maximum. The mean time leaves out the first too. A kernel
counts two arrays (copy, scale) or three (add, triad); what the cache fetches before a store is not counted.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from labkit.formats.reading.log import NUMBER, UNTITLED, Lines, Log, Run
from labkit.point.notes import Note, note
from labkit.point.spec import Reported

CLOCK_NS = 1000.0  # prints s with six decimals
_COLUMNS = r"Function +(?:Best Rate MB/s|Rate \(MB/s\)) +Avg time +Min time +Max time"
_BEGINS = re.compile(rf" *(?:STREAM [Vv]ersion \$?Revision: *|NVIDIA-STREAM +)([\d.]+)|{_COLUMNS}")
_ON_GPU = r" *Array size \((double|single|float)\) *= *(\d{1,15})\*"  # of NVIDIA's: elements
_SIZE_UNKNOWN = note("array-unknown", "the log does not state the size of the arrays, so it is recorded as 0")
_BEST = note("best-of", "the best of the repetitions, not their mean", count=0)
_HEAD = re.compile(_COLUMNS)
_CLOSES = re.compile(r" *(?:-{20,}|Solution Validates|Failed Validation|(?:Copy|Scale|Add|Triad): )")
_ROW = re.compile(rf"(Copy|Scale|Add|Triad): +({NUMBER}) +({NUMBER}) +({NUMBER}) +({NUMBER})$")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per kernel; `size` is the size of one array, B."""
    lines, starts, headed = Lines(text, where), list[tuple[int, str]](), False
    for number, line in lines:
        if (begin := _BEGINS.match(line)) and (begin[1] or not headed):
            starts.append((number if begin[1] else _above(lines, number), begin[1] or ""))
        headed = bool(begin and begin[1]) if begin else headed  # whether the lines of a table's run begin above it
    if not starts:
        return [_run(lines, number, number, row, doubts=(UNTITLED, _SIZE_UNKNOWN)) for number, row in _rows(lines)]
    ends = [number - 1 for number, _ in starts[1:]] + [len(lines)]
    blocks = zip(starts, ends, strict=False)
    return [run for (first, version), last in blocks for run in _block(lines, first, last, version)]


def _above(lines: Lines, head: int) -> int:
    """Return the first line of a table without a title: the settings above its head are below other tables."""
    first = head
    while first > 1 and not _CLOSES.match(lines.texts[first - 2]):
        first -= 1
    return first


def _block(lines: Lines, first: int, last: int, version: str) -> list[Run]:
    """Read one run of the program."""
    head, _ = lines.need(_HEAD.pattern, first, last, "the head 'Function Best Rate MB/s Avg time Min time Max time'")
    size = lines.find(r" *Array size = +(\d{1,15})", first, last)
    gpu = lines.find(_ON_GPU, first, last)
    word = lines.find(r" *This system uses (\d{1,2}) bytes per", first, last)
    threads = lines.find(r" *Number of Threads (?:counted |requested )?= +(\d{1,7})", first, last)
    repeats = lines.find(r" *Each (?:kernel|test) (?:will be executed|is run) +(\d{1,9}) times", first, last)
    valid = lines.find(r" *Solution Validates", first, last)
    bad = lines.find(r" *Failed Validation", first, last)
    clock = lines.find(r" *Your clock granularity/precision appears to be (\d{1,9}) microseconds", first, last)
    remark = _BEST
    if repeats:
        words = f"the best of {repeats[1][1]} repetitions, not their mean"
        remark = note("best-of", words, count=int(repeats[1][1]))
    array = int(size[1][1]) * (int(word[1][1]) if word else 8) if size else 0
    array = int(gpu[1][2]) * (8 if gpu[1][1] == "double" else 4) if gpu else array
    doubts = [] if array else [_SIZE_UNKNOWN]
    if bad or not valid:
        doubts.append(note("not-validated", "STREAM did not find its arrays right"))
    made = []
    for number in range(head + 1, head + 5):
        row = _ROW.match(lines.texts[number - 1]) if number <= last else None
        if not row:
            raise lines.wrong(number, "a row of Copy, Scale, Add and Triad each: name, rate and three times")
        made.append(
            replace(
                _run(lines, first, last, row, at=number, doubts=tuple(doubts)),
                size=array,
                options={"kernel": row[1].lower(), "threads": int(threads[1][1]) if threads else 1},
                stated={"repetitions": repeats[1][1]} if repeats else {},
                version=version,
                verified=bool(valid) and not bad,
                remarks=(remark,),
                clock_ns=int(clock[1][1]) * 1000.0 if clock else math.nan,
            )
        )
    return made


def _rows(lines: Lines) -> list[tuple[int, re.Match[str]]]:
    """Return the rows of kernels from a copied excerpt."""
    return [(number, row) for number, line in lines if (row := _ROW.match(line.strip()))]


def _run(lines: Lines, first: int, last: int, row: re.Match[str], *, at: int = 0, doubts: tuple[Note, ...] = ()) -> Run:
    """Return the run of a kernel by its row, in line `at`, by default the first."""
    number = at or first
    rate, mean, least, most = (lines.number(cell, number) for cell in row.groups()[1:])
    if rate <= 0 or not least <= mean <= most:
        raise lines.wrong(number, "a rate above 0, and a mean time between least and greatest")
    times = [Reported("run_time_s", "s", s, v) for s, v in (("mean", mean), ("min", least), ("max", most))]
    return Run(
        test=f"STREAM {row[1]}",
        values=(Reported("bandwidth_MBps", "MB/s", "max", rate), *times),
        line=number,
        options={"kernel": row[1].lower(), "threads": 1},
        remarks=(_BEST,),
        doubts=doubts,
        source=lines.source(first, last),
    )


LOG = Log(
    "STREAM",
    ("STREAM version", "STREAM Version", "NVIDIA-STREAM", "Function "),
    _BEGINS,
    runs,
    rows=lambda line: _ROW.match(line.strip()),
)
