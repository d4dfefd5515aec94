"""HPL's table of results: a row for each solved system, and the check of its residual.

``Gflops`` is (2/3 N³ + 3/2 N²) over the wall time of the solution (``HPL_pdtest.c``), whatever the machine really did.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from labkit.formats import metric
from labkit.formats.reading.log import NUMBER, UNTITLED, Lines, Log, Run, settings
from labkit.point.notes import note

CLOCK_NS = 1e7  # prints s with two decimals
_BEGINS = re.compile(r"HPLinpack +([\d.]+) +-- +High-Performance Linpack benchmark")
ROW = re.compile(
    rf"(W[RC]\w{{1,20}}) +(\d{{1,9}}) +(\d{{1,9}}) +(\d{{1,6}}) +(\d{{1,6}}) +({NUMBER}) +({NUMBER})"
    rf"(?: +\( *{NUMBER}\))?$"  # builds for GPUs add the rate of one
)
_CHECK = re.compile(r"\|\|Ax-b\|\|_oo *(?:/ *\(.*|=.*)")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per row."""
    lines, made = Lines(text, where), []
    for first, last, version in lines.blocks(_BEGINS):
        made += rows(lines, first, last, version[1])
    if not made and any(map(_alone, lines.texts)):  # an excerpt
        made = [replace(run, doubts=(*run.doubts, UNTITLED)) for run in rows(lines, 1, len(lines), "")]
    return made


def _alone(line: str) -> bool:
    """Whether a line is a row: its rate follows from its order and time, so it needs no head."""
    if not (row := ROW.match(line)):
        return False
    order, seconds, rate = (float(row[k]) for k in (2, 6, 7))
    return seconds > 0 and math.isclose(rate * seconds * 1e9, order**3 * 2 / 3 + order**2 * 3 / 2, rel_tol=0.02)


def rows(lines: Lines, first: int, last: int, version: str) -> list[Run]:
    """Read the rows of one run of the program, or of HPL inside HPCC."""
    places = [(number, row) for number in range(first, last + 1) if (row := ROW.match(lines.texts[number - 1]))]
    for number in range(first, last + 1):
        line = lines.texts[number - 1]
        if re.match(r"W[RC]\d\w+(?: +\d+)*$", line) and not ROW.match(line):
            raise lines.wrong(number, "a row of T/V, N, NB, P, Q, Time and Gflops")
    if not places:
        raise lines.wrong(last, "a row of results (T/V, N, NB, P, Q, Time, Gflops) in this run of HPL")
    ends = [number - 1 for number, _ in places[1:]] + [last]
    stated = settings(line for line in lines.texts[first - 1 : places[0][0] - 1] if not _GRID.match(line))
    made = [_run(lines, number, end, row, version) for (number, row), end in zip(places, ends, strict=True)]
    return [replace(run, stated=stated) for run in made]


_GRID = re.compile(r"(?:N|NB|P|Q) +:")  # each row has its own


def _run(lines: Lines, number: int, end: int, row: re.Match[str], version: str) -> Run:
    order, block, across, down = (int(cell) for cell in row.groups()[1:5])
    seconds, rate = (lines.number(cell, number) for cell in row.groups()[5:])
    if not order or rate <= 0 or seconds < 0 or across * down < 1:
        raise lines.wrong(number, "an order, a rate and a grid of processes above 0")
    checks = [text for text in lines.texts[number:end] if _CHECK.match(text)]
    passed = bool(checks) and all(text.endswith("PASSED") for text in checks)
    doubts = []
    if checks and not passed:
        doubts.append(note("wrong-result", "the residual is too large: HPL's check FAILED"))
    elif not checks:
        doubts.append(note("not-validated", "HPL did not check its residual"))
    return Run(
        test="HPL",
        values=(metric("performance_GFLOPS", "value", rate), metric("run_time_s", "value", seconds)),
        line=number,
        ranks=across * down,
        options={"n": order, "nb": block, "p": across, "q": down, "variant": row[1]},
        version=version,
        verified=passed,
        doubts=tuple(doubts),
        source=lines.source(max(number - 3, 1), min(end, number + 6)),
    )


LOG = Log("HPL", ("HPLinpack",), _BEGINS, runs, rows=_alone)
