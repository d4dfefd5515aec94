"""LinkTest's text (Jülich Supercomputing Centre, versions 1 and 2): ping-pong between all pairs of ranks.

A pair's time is its loop over twice its messages: one way (``mpilinktest_kernel.c``). Mean, minimum and maximum are
over the pairs of all steps. The bandwidth is the size over that time. Version 1 prints MB/s of 2^20 B (``time2mbs``),
version 2 names binary units. With ``--bisection``, version 2 adds the bandwidth of all pairs of a step together.

The values of each pair are in the file ``.sion``, which labkit does not read. Version 1 tests the slowest pairs again;
these lines (``Stest``) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit.formats import metric
from labkit.formats.reading.log import BINARY, NUMBER, SIZE_UNKNOWN, Lines, Log, Run, settings, whole
from labkit.point.notes import note
from labkit.point.spec import Reported

_FIRST = re.compile(r"linktest: Number of MPI-Task: +(\d{1,9})$")
_SIZE = r"linktest: Message length: +(\d{1,12}) Bytes"
_OLD = re.compile(rf"RESULT: (Min|Max|Avg) Time: +({NUMBER})us \( *({NUMBER}) MB/s\) \[iter +(\d{{1,9}}) *\]$")
_AMOUNT = rf"({NUMBER}) (\w?s) \( *({NUMBER}) ([KMGT]?)i?B/s\)"
_STEP = re.compile(rf"Parallel Results for step +\d{{1,9}}: .*? bisection bw: +({NUMBER}) ([KMGT]?)i?B/s")
_TOTAL = re.compile(
    rf"Aggregated Results: min: +{_AMOUNT} avg: +{_AMOUNT} max: +{_AMOUNT}"
    rf"(?: avg\. bisection bw: +({NUMBER}) ([KMGT]?)i?B/s)?"
)
_BEGINS = re.compile(rf"{_FIRST.pattern[:-1]}|Aggregated Results: min: ")
_END = re.compile(  # version 1 has no blank before its unit
    r"RESULT: Avg Time: .* [num]?s \(|Timing Summary: .* remaining for iteration: .* \(0 steps\)"
)
_ASKED = re.compile(r"--(size-messages|num-messages|num-warmup-messages|mode)[ =](\w{1,20})")
_FLAGS = re.compile(r"--(bidirectional|bisection|use-gpu-memory)\b")
_IN_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_OVER_PAIRS = ("mean", "min_of_pairs", "max_of_pairs")
_PAIRS = note("over-pairs", "the values are over pairs of ranks; that of a pair is a mean over its messages")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per iteration of version 1, and of each start of version 2, from its last line with totals."""
    lines = Lines(text, where)
    made = [run for first, last, head in lines.blocks(_FIRST) for run in _old(lines, first, last, int(head[1]))]
    return sorted([*made, *_new(lines)], key=lambda run: run.line)


def _old(lines: Lines, first: int, last: int, ranks: int) -> list[Run]:
    """Read one start of version 1."""
    _, size = lines.need(_SIZE, first, last, "a line 'linktest: Message length: … Bytes'")
    found: dict[int, dict[str, tuple[int, float, float]]] = {}
    for number in range(first, last + 1):
        if row := _OLD.match(lines.texts[number - 1]):
            values = lines.number(row[2], number), lines.number(row[3], number) * 2**20 / 1e6
            found.setdefault(int(row[4]), {})[row[1]] = number, *values
    made = []
    for rows in found.values():
        if len(rows) != 3:
            raise lines.wrong(last, "the lines 'RESULT: Min, Max and Avg Time' of each iteration")
        times = [rows[key][1] for key in ("Avg", "Min", "Max")]
        rates = [rows[key][2] for key in ("Avg", "Max", "Min")]
        number = min(row[0] for row in rows.values())
        made.append(
            _run(lines, number, number + 2, ranks, int(size[1]), _values(times, rates), _told(lines, first, number))
        )
    return made


def _told(lines: Lines, first: int, last: int) -> dict[str, str]:
    """Return the settings that version 1 prints."""
    texts = (line.removeprefix("linktest:") for line in lines.texts[first - 1 : last] if line.startswith("linktest:"))
    told = settings(texts)
    return {name: told[name] for name in _SETTINGS if name in told}


_SETTINGS = ("number_of_iteration", "number_of_iter_warmup", "alltoall", "serial_test", "mixing_pe_order")


def _new(lines: Lines) -> Iterator[Run]:
    """Read the starts of version 2: each ends with the lines RESULT below its totals."""
    first, totals = 1, None
    for number, line in lines:
        if row := _TOTAL.match(line):
            totals = number, row
        elif line.startswith("Aggregated Results: "):
            raise lines.wrong(number, "a whole line 'Aggregated Results: min: … avg: … max: …'")
        elif _END.match(line) and totals:
            yield _start(lines, first, *totals)
            first, totals = number, None
    if totals:
        raise lines.wrong(len(lines), "the end of the test: a line 'RESULT: Avg Time', or one that no step remains")


def _start(lines: Lines, first: int, number: int, row: re.Match[str]) -> Run:
    """Read one start of version 2, from its first line and the line of its totals."""
    amounts = [row.groups()[k : k + 4] for k in (4, 0, 8)]  # mean, minimum, maximum
    if any(unit not in _IN_US for _, unit, _, _ in amounts):
        raise lines.wrong(number, "times in ns, us, ms or s")
    times = [lines.number(time, number) * _IN_US[unit] for time, unit, _, _ in amounts]
    rates = [lines.number(rate, number) * BINARY[prefix] / 1e6 for _, _, rate, prefix in amounts]
    values = _values(times, [rates[0], rates[2], rates[1]])
    texts = list(enumerate(lines.texts[first - 1 : number], first))
    if row[13]:
        steps = [lines.number(s[1], n) * BINARY[s[2]] / 1e6 for n, line in texts if (s := _STEP.match(line))]
        shares = [("mean", lines.number(row[13], number) * BINARY[row[14]] / 1e6)]
        shares += [("min", min(steps)), ("max", max(steps))] if steps else []
        values += [Reported("bisection_bandwidth_MBps", "MB/s", statistic, value) for statistic, value in shares]
    asked = {one[1].replace("-", "_"): one[2] for _, line in texts for one in _ASKED.finditer(line)}
    flags = {one[1].replace("-", "_"): "true" for _, line in texts for one in _FLAGS.finditer(line)}
    size = asked.pop("size_messages", "")
    return _run(lines, number, number, 0, whole(size), values, asked | flags)


def _values(times: list[float], rates: list[float]) -> list[Reported]:
    """Return times and bandwidths, each mean, least and greatest over pairs."""
    named = [("latency_us", times), ("bandwidth_MBps", rates)]
    return [metric(name, s, v) for name, three in named for s, v in zip(_OVER_PAIRS, three, strict=True)]


def _run(
    lines: Lines, number: int, last: int, ranks: int, size: int, values: list[Reported], stated: dict[str, str]
) -> Run:
    return Run(
        test="LinkTest",
        values=tuple(values),
        line=number,
        size=size,
        ranks=ranks,
        stated=stated,
        remarks=(_PAIRS,),
        doubts=() if size else (SIZE_UNKNOWN,),
        source=lines.source(number, last),
    )


LOG = Log("LinkTest", ("linktest: Number of MPI-Task", "Aggregated Results:"), _BEGINS, runs)
