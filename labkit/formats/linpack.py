"""Intel's LINPACK benchmark for shared memory (``xlinpack`` of MKL): trials, and their summary by size.

A trial solves a dense system. ``GFlops`` is (2/3 N³ + 2 N²) over its time, as in LINPACK. The summary has average and
maximum over the trials of each size and leading dimension, which are repeats inside one start.
"""

from __future__ import annotations

import math
import re
from statistics import mean

from labkit.formats import metric
from labkit.formats.reading.log import NUMBER, UNTITLED, Lines, Log, Run
from labkit.point.notes import note

CLOCK_NS = 1e6  # prints s with three decimals
_TRIALS = re.compile(r"=* *Timing linear equation system solver *=*$")
_SUMMARY = re.compile(r"Performance Summary \(GFlops\)$")
_HEAD = re.compile(r"Size +LDA +Align\. +(?:Time\(s\) +GFlops +Residual|Average +Maximal)")
_BEGINS = re.compile(rf"{_TRIALS.pattern}|{_SUMMARY.pattern}")
_WHOLE = r"(\d{1,9}) +(\d{1,9}) +(\d{1,6})"
_TRIAL = re.compile(rf"{_WHOLE} +({NUMBER}) +({NUMBER}) +{NUMBER} +{NUMBER} +(pass|fail\w*)$")
_SIZE = re.compile(rf"{_WHOLE} +({NUMBER}) +({NUMBER})$")
_DAMAGED = re.compile(r"\d+ +\d+ +\d+(?: |$)")
_THREADS = r"Number of threads *: *(\d{1,6})"
_DIGITS = 0.01  # least difference of rates that are not the same
Key = tuple[int, int, int]


def runs(text: str, where: str) -> list[Run]:
    """Return one run per size, leading dimension and alignment of each start."""
    lines, made, first = Lines(text, where), list[Run](), 1
    lines.texts = [line.strip() for line in lines.texts]
    starts = [number for number, line in lines if _TRIALS.match(line)] or [1]
    excerpt = not any(_BEGINS.match(line) for line in lines.texts)
    ends = [*starts[1:], len(lines) + 1]
    for start, end in zip(starts, ends, strict=True):
        made += _start(lines, first, start, end - 1, excerpt)
        first = start
    return made


def _start(lines: Lines, first: int, start: int, last: int, excerpt: bool) -> list[Run]:
    """Read the trials and the summary of one start; its settings are above them. An excerpt may lack the summary."""
    trials, sizes, other = dict[Key, list[tuple[int, float, float, bool]]](), dict[Key, tuple[int, float, float]](), ""
    for number in range(start, last + 1):
        line = lines.texts[number - 1]
        if row := _TRIAL.match(line):
            key, (seconds, rate) = _key(row), (lines.number(row[k], number) for k in (4, 5))
            trials.setdefault(key, []).append((number, seconds, rate, row[6] == "pass"))
        elif row := _SIZE.match(line):
            sizes[_key(row)] = number, lines.number(row[4], number), lines.number(row[5], number)
        elif _HEAD.match(line):
            other = line
        elif other and _DAMAGED.match(line):
            raise lines.wrong(number, f"a row of {' '.join(other.split())}")
    if not trials and not sizes:
        raise lines.wrong(last, "a row of Size, LDA, Align., and rates by here, the end of the run")
    if excerpt:
        rates = {key: [rate for _, _, rate, _ in some] for key, some in trials.items()}
        sizes = {key: (trials[key][0][0], mean(some), max(some)) for key, some in rates.items()} | sizes
    for key in trials.keys() - sizes:
        raise lines.wrong(last, f"the size {key[0]} in 'Performance Summary (GFlops)' by here: the log is cut")
    threads = lines.find(_THREADS, first, start)
    return [_run(lines, key, trials.get(key, []), size, threads) for key, size in sizes.items()]


def _key(row: re.Match[str]) -> Key:
    return int(row[1]), int(row[2]), int(row[3])


def _run(
    lines: Lines,
    key: Key,
    trials: list[tuple[int, float, float, bool]],
    size: tuple[int, float, float],
    threads: tuple[int, re.Match[str]] | None,
) -> Run:
    at, average, most = size
    number = trials[0][0] if trials else at
    rates = [rate for _, _, rate, _ in trials]
    if not 0 < average <= most:
        raise lines.wrong(at, "an average above 0 and a maximum that is not smaller")
    if trials and not math.isclose(max(rates), most, rel_tol=1e-3, abs_tol=_DIGITS):
        raise lines.wrong(at, f"the greatest rate of its trials, {max(rates):g}")
    values = [metric("performance_GFLOPS", "mean", average), metric("performance_GFLOPS", "max", most)]
    if trials:
        values.append(metric("performance_GFLOPS", "min", min(rates)))
        values.append(metric("run_time_s", "mean", mean(seconds for _, seconds, _, _ in trials)))
    passed = [right for *_, right in trials]
    doubts = [] if trials and threads else [UNTITLED]
    if passed and not all(passed):
        doubts.append(note("wrong-result", "LINPACK found the residual of a trial too large"))
    count = len(trials)
    repeats = note("repeats-in-a-start", f"{count or 'several'} trials inside one start", count=count)
    options = dict(zip(("n", "lda", "align"), key, strict=True))
    return Run(
        test="LINPACK",
        values=tuple(values),
        line=number,
        options={**options, **({"threads": int(threads[1][1])} if threads else {})},
        verified=bool(passed) and all(passed),
        remarks=(repeats,) if count != 1 else (),
        doubts=tuple(doubts),
        source=lines.source(number, number + max(count - 1, 0)),
    )


LOG = Log(
    "LINPACK",
    ("Timing linear equation system solver", "Performance Summary (GFlops)"),
    _BEGINS,
    runs,
    rows=lambda line: _TRIAL.match(line.strip()),
)
