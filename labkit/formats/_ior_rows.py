"""Rows of IOR's results or summary without a head; the number of columns distinguishes the two.

A row of results has bandwidth, block, transfer size and times of one repetition. Bandwidth and total time give the
bytes, which are a whole number of blocks; from version 3.3 on, IOPS times the transfer size is the bandwidth too. The
row of a summary also names tasks, repetitions and sizes.
"""

from __future__ import annotations

import re
from statistics import mean

from labkit.formats.reading.log import HEAD_MISSING, MEAN_OF_RATES, Lines, Run, over_repeats
from labkit.point.notes import note
from labkit.point.spec import Reported

_MIB = 2**20 / 1e6
_ROW = re.compile(r"(write|read)((?:\s+(?:\d+(?:\.\d+)?|NA|-))+)(?:\s+[A-Z]\w*\s+-?\d+)?\s*")
_FIRST = "bw(MiB/s)"
_RESULTS = {
    len(names): names
    for text in (
        "access bw(MiB/s) block(KiB) xfer(KiB) open(s) wr/rd(s) close(s) total(s) iter",
        "access bw(MiB/s) IOPS Latency(s) block(KiB) xfer(KiB) open(s) wr/rd(s) close(s) total(s) iter",
    )
    if (names := text.split())
}
_OF_TASKS = "Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggs(MiB) API RefNum"
_RATES = "Max({0}) Min({0}) Mean({0}) StdDev"
SUMMARY = {
    len(names): names
    for text in (
        f"Operation {_RATES.format('MiB')} Mean(s) {_OF_TASKS}",
        f"Operation {_RATES.format('MiB')} {_RATES.format('OPs')} Mean(s) {_OF_TASKS}",
        f"Operation {_RATES.format('MiB')} {_RATES.format('OPs')} Mean(s) Stonewall(s) Stonewall(MiB) {_OF_TASKS}",
    )
    if (names := text.split())
}
Cells = dict[str, float]


def is_row(line: str) -> bool:
    """Return whether a line is a row of results or of a summary of a known version."""
    return bool(_ROW.fullmatch(line)) and len(line.split()) in {**_RESULTS, **SUMMARY}


def results(lines: Lines) -> list[Run]:
    """Return one run for the repetitions of each operation; their numbers rise, so a smaller one begins another run."""
    groups: dict[str, list[dict[int, Cells]]] = {}
    for number, line in lines:
        texts = line.split()
        names = _RESULTS.get(len(texts))
        if not names or not _ROW.fullmatch(line):
            if re.match(r"(?:write|read)\s+\d", line) and not is_row(line):
                raise lines.wrong(number, f"{' or '.join(map(str, _RESULTS))} columns, as IOR prints them")
            continue
        cells = {name: lines.number(text, number) for name, text in zip(names[1:], texts[1:], strict=True)}
        _check(lines, number, cells)
        of = groups.setdefault(texts[0], [])
        if not of or max(row["iter"] for row in of[-1].values()) >= cells["iter"]:
            of.append({})
        of[-1][number] = cells
    return [_run(lines, operation, rows) for operation, of in groups.items() for rows in of]


def _check(lines: Lines, number: int, cells: Cells) -> None:
    """Refuse a row with contradictory numbers, because its columns may be different ones."""
    rate, block, total = (cells[name] for name in (_FIRST, "block(KiB)", "total(s)"))
    blocks = rate * 1024 * total / block if block else 0.0
    step = (0.5e-2 / rate + 0.5e-5 / total) * blocks if rate and total else 0.0  # of the last digits
    fits = blocks > 0.5 and abs(blocks - round(blocks)) <= 0.01 * blocks + step
    if "IOPS" in cells and rate:
        # IOPS count the time of the transfers alone in some versions, so they may be higher than the bandwidth's
        fits = fits and cells["IOPS"] * cells["xfer(KiB)"] / 1024 >= 0.98 * rate
    if not fits:
        raise lines.wrong(number, "a bandwidth in MiB/s that follows from blocks and total time, or the head")


def _run(lines: Lines, operation: str, rows: dict[int, Cells]) -> Run:
    rates = [cells[_FIRST] * _MIB for cells in rows.values()]
    first, last = min(rows), max(rows)
    several = len(rows) > 1
    remark = note("repeats-in-a-start", f"{len(rows)} repetitions inside one start", count=len(rows))
    values = over_repeats("bandwidth_MBps", "MB/s", max(rates), min(rates), mean(rates))
    return Run(
        test="IOR",
        values=(*values, Reported("run_time_s", "s", "mean", mean(cells["total(s)"] for cells in rows.values()))),
        line=first,
        size=round(rows[first]["xfer(KiB)"] * 1024),
        ranks=0,
        options={"operation": operation},
        doubts=(HEAD_MISSING,),
        remarks=(remark, MEAN_OF_RATES) if several else (),
        source=lines.source(first, last),
    )
