"""HPCC's sections: what each test prints when it ends, for runs that ended before their summary.

A section is whole if its last line is there. Its results equal those of the summary, with fewer digits. `Star` tests
print average, minimum and maximum over processes. PTRANS prints the lowest rate of the five repetitions of each setting
(``pdtransdriver.c``), HPL a row for each setting. Of the latter two the summary has the best setting.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from labkit.formats import hpl
from labkit.formats.reading.log import NUMBER, Lines

BEGINS = re.compile(r"Begin of (\w+) section\.$")
_RATE, _EACH = rf"({NUMBER}) Billion\(10\^9\) Updates    per second \[GUP/s\]$", rf"({NUMBER}) +/ +"
_KERNELS = ("Copy", "Scale", "Add", "Triad")
_PAIRS = ("Min", "Avg", "Max")
_OF_THREE = rf"Latency +min / avg / max: +{_EACH * 2}({NUMBER}) msecs$"
_RING = rf"On WHICH +ordered ring: latency= *({NUMBER}) msec, bandwidth= *({NUMBER}) MB/s$"
# section → what its lines match, and the names in the summary of their numbers
_RESULTS: dict[str, dict[str, tuple[str, ...]]] = {
    **{f"MPIRandomAccess{kind}": {_RATE: (f"MPIRandomAccess{kind}_GUPs",)} for kind in ("", "_LCG")},
    **{
        f"{how}RandomAccess{kind}": {rf"{word} GUP/s ({NUMBER})$": (f"{how}RandomAccess{kind}_GUPs",)}
        for how, word in (("Star", "Average"), ("Single", "Single"))
        for kind in ("", "_LCG")
    },
    **{
        f"{how}{what}": {rf"{word} Gflop/s ({NUMBER})$": (f"{how}{what}_Gflops",)}
        for what in ("DGEMM", "FFT")
        for how, word in (("Star", "Average"), ("Single", f"Single {what}"))
    },
    **{
        f"{how}STREAM": {rf"{word} {kernel} GB/s ({NUMBER})$": (f"{how}STREAM_{kernel}",) for kernel in _KERNELS}
        for how, word in (("Star", "Average"), ("Single", "Single STREAM"))
    },
    "MPIFFT": {rf"Gflop/s: +({NUMBER})$": ("MPIFFT_Gflops",)},
    "LatencyBandwidth": {
        _OF_THREE: tuple(f"{extreme}PingPongLatency_usec" for extreme in _PAIRS),
        _OF_THREE.replace("Latency", "Bandwidth").replace("msecs", "MByte/s"): tuple(
            f"{extreme}PingPongBandwidth_GBytes" for extreme in _PAIRS
        ),
        _RING.replace("WHICH", "naturally"): (
            "NaturallyOrderedRingLatency_usec",
            "NaturallyOrderedRingBandwidth_GBytes",
        ),
        _RING.replace("WHICH", "randomly"): ("RandomlyOrderedRingLatency_usec", "RandomlyOrderedRingBandwidth_GBytes"),
    },
}
NAMES = (*_RESULTS, "PTRANS")
_DETAILS = r"Detailed benchmark results:$"  # above them LatencyBandwidth prints its single measurements
_FACTORS = {"Latency_usec": 1e3, "Bandwidth_GBytes": 1e-3}  # printed in ms and MB/s
_RANKS = (r"Running on (\d{1,8}) processors", r" The ring communication was done in both directions on (\d{1,8}) proc")
_WALL = re.compile(rf"WALL +((?:\d{{1,9}} +){{6}}){NUMBER} +(PASSED|FAILED|BYPASS) +({NUMBER}) +{NUMBER}$")
_REPEATS = 5  # of each setting of PTRANS
_RIGHT = re.compile(r".*\bPASSED\b|Found .*\(passed\)\.|Solution Validates")
_WRONG = re.compile(r".*\bFAILED\b|Found .*\(failed\)\.|Failed Validation|Node\(s\) with error [1-9]")
_WITHOUT = re.compile(r".*(?:Failed|Cannot|Warning|Unable)")  # of a section that could not run
_CLOSING = r"(?:Current time \(|End of \w+ section\.|\s*$)"


@dataclass(frozen=True)
class Section:
    """A section: first and last line, and its results by their name in the summary, each with its line."""

    name: str
    first: int
    last: int
    whole: bool
    values: dict[str, tuple[int, float]]
    verified: bool
    wrong: bool


def ranks(lines: Lines, first: int, last: int) -> int:
    """Return the number of processes that the sections state; 0 if none does."""
    found = [hit for pattern in _RANKS if (hit := lines.find(pattern, first, last))]
    return int(found[0][1][1]) if found else 0


def not_run(lines: Lines, first: int, last: int) -> set[str]:
    """Return the names of results in the summary whose section is empty: HPCC may print memory of no meaning there."""
    found = set[str]()
    for name, results in _RESULTS.items():
        begin = lines.find(rf"Begin of {name} section\.$", first, last)
        end = lines.find(rf"End of {name} section\.$", begin[0], last) if begin else None
        if begin and end and all(re.match(_CLOSING, line) for line in lines.texts[begin[0] : end[0]]):
            found.update(*results.values())
    return found


def extremes(lines: Lines, first: int, last: int) -> Iterator[tuple[str, str, tuple[int, float]]]:
    """Yield name in the summary, statistic, line and value of the least and the greatest process in `Star` tests."""
    for name, results in _RESULTS.items():
        begin = lines.find(rf"Begin of {name} section\.$", first, last) if name.startswith("Star") else None
        end = lines.find(rf"End of {name} section\.$", begin[0], last) if begin else None
        if not begin or not end:
            continue
        for pattern, (one, *_) in results.items():
            for word, statistic in (("Minimum", "min_of_ranks"), ("Maximum", "max_of_ranks")):
                if hit := lines.find(pattern.replace("Average", word), begin[0], end[0]):
                    yield one, statistic, (hit[0], lines.number(hit[1][1], hit[0]))


def read(lines: Lines, first: int, last: int) -> list[Section]:
    """Read all sections of a run but the summary, in order.

    Raises
    ------
    DataError
        If a whole section lacks its result without an error of HPCC.
    """
    starts = [(n, hit[1]) for n in range(first, last + 1) if (hit := BEGINS.match(lines.texts[n - 1]))]
    made = []
    for (begin, name), (beyond, _) in itertools.pairwise([*starts, (last + 1, "")]):
        if name == "Summary":
            continue
        end = beyond - 1
        closing = lines.find(rf"End of {name} section\.$", begin, end)
        stop = closing[0] if closing else end
        texts = lines.texts[begin:stop]
        values = dict(_values(lines, name, begin, stop)) if closing else {}
        if name == "HPL" and not closing:
            values = dict(_hpl(lines, begin, stop))
        wrong = any(map(_WRONG.match, texts))
        right = any(map(_RIGHT.match, texts)) and not wrong
        made.append(Section(name, begin, stop, bool(closing), values, right, wrong))
    return made


def _values(lines: Lines, name: str, first: int, last: int) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield the results of a whole section; none of one that was not run, or that HPCC could not run."""
    inside = lines.texts[first : last - 1]
    if all(re.match(_CLOSING, line) for line in inside) or any(map(_WITHOUT.match, inside)):
        return
    if name in ("HPL", "PTRANS"):
        yield from (_hpl if name == "HPL" else _ptrans)(lines, first, last)
        return
    details = lines.find(_DETAILS, first, last)
    for pattern, names in _RESULTS.get(name, {}).items():
        line, found = lines.need(pattern, details[0] if details else first, last, f"the result of {name}, {names[0]},")
        for one, text in zip(names, found.groups(), strict=True):
            factor = next((factor for end, factor in _FACTORS.items() if one.endswith(end)), 1.0)
            yield one, (line, lines.number(text, line) * factor)


def _hpl(lines: Lines, first: int, last: int) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield the best of HPL's rows; in a section that is cut only one with the check of its residual below it."""
    rows = hpl.rows(lines, first, last, "") if lines.find(hpl.ROW.pattern, first, last) else []
    if not lines.find(r"End of HPL section\.$", first, last):
        rows = [run for run in rows if all(doubt.code != "not-validated" for doubt in run.doubts)]
    if rows:
        best = max(rows, key=lambda run: run.values[0].value)
        yield "HPL_Tflops", (best.line, best.values[0].value / 1e3)


def _ptrans(lines: Lines, first: int, last: int) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield the best setting's rate: each prints a row for each repetition, with the least rate so far."""
    rows = [(n, row) for n in range(first, last + 1) if (row := _WALL.match(lines.texts[n - 1]))]
    for number in range(first, last + 1):
        if lines.texts[number - 1].startswith("WALL") and not _WALL.match(lines.texts[number - 1]):
            raise lines.wrong(number, "a row of PTRANS: sizes, time, check, GB/s and residual")
    settings = [list(group) for _, group in itertools.groupby(rows, lambda one: one[1][1].split())]
    ends = [group[k : k + _REPEATS][-1] for group in settings for k in range(0, len(group), _REPEATS)]
    if ends:
        number, row = max(ends, key=lambda one: float(one[1][3]))
        yield "PTRANS_GBs", (number, lines.number(row[3], number))
