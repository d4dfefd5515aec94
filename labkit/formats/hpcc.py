"""HPCC's summary (``hpccoutf.txt``, ``Begin of Summary section``): a line ``name=value`` for every result.

If a run ended before its summary, labkit reads the complete sections: the same results with fewer digits. It also
reads lines of the summary without the rest of the log.

``MPI`` tests run on all processes together. ``Star`` tests run on all at the same time, each for itself; the summary
has the mean over processes. ``Single`` tests run on one process while the others wait. Ping-pong latencies are half a
round trip of 8 B, and its bandwidths use 2,000,000 B, over the tested pairs. Values of the rings are per process. 1 GB
is 10^9 B. STREAM's numbers are the best of its repetitions, as STREAM's own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import replace

from labkit.formats import _hpcc_sections, hpl, malformed, metric, stream
from labkit.formats.reading.log import CUT, NUMBER, REMEDY, UNTITLED, Lines, Log, Run, setting_name
from labkit.point.notes import Note, note
from labkit.point.spec import Reported

_BANNER = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version (\S+)")
_BEGINS = re.compile(rf"{_BANNER.pattern}|Begin of (?:{'|'.join(_hpcc_sections.NAMES)}) section\.$")
_HELD = re.compile(f"{hpl.LOG.begins.pattern}|{stream.LOG.begins.pattern}")
_PAIR = re.compile(rf"(\w+)=({NUMBER})$")
_DAMAGED = re.compile(r"(?:HPL|PTRANS|MPI|Star|Single|Max|Min|Avg|Naturally|Randomly)\w*")  # the begin of a name
_SUMMARY, _END = re.compile(r"Begin of Summary section"), r"End of Summary section"
_VERSION = re.compile(r"Version(Major|Minor|Micro|Release)=(\w+)$")
_SIZES = {"Latency": 8, "Bandwidth": 2_000_000}
_NAMES = re.compile(
    r"(?P<tflops>HPL)_Tflops|(?P<gflops>(?:Star|Single)(?:DGEMM|FFT)|MPIFFT)_Gflops"
    r"|(?P<gups>(?:MPI|Star|Single)RandomAccess(?:_LCG)?)_GUPs|(?P<ptrans>PTRANS)_GBs"
    r"|(?P<stream>(?:Star|Single)STREAM_(?:Copy|Scale|Add|Triad))"
    r"|(?P<extreme>Max|Min|Avg)PingPong(?P<pair>Latency_usec|Bandwidth_GBytes)"
    r"|(?P<ring>(?:Naturally|Randomly)OrderedRing)(?P<what>Latency_usec|Bandwidth_GBytes)"
)
_STATISTICS = {"Max": "max_of_pairs", "Min": "min_of_pairs", "Avg": "value"}
Key = tuple[str, int]


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test of each summary, or of the sections of a run that ended before its summary."""
    lines, made, closed, ended = Lines(text, where), list[Run](), 0, 0
    if not any(_BEGINS.match(line) for line in lines.texts):
        return _summary(lines, 0, len(lines) + 1, "", (), (UNTITLED,))
    for first, last, version in _blocks(lines):
        start = lines.find(_SUMMARY.pattern, first, last)
        end = lines.find(_END, start[0], last) if start else None
        _alone(lines, closed + 1, first)
        if start and end:
            empty = _hpcc_sections.not_run(lines, first, start[0])
            made += _with_extremes(lines, first, last, _summary(lines, start[0], end[0], version, empty))
            closed = end[0]
        else:
            some = _with_extremes(lines, first, last, _of_sections(lines, first, last, version))
            ended = ended if some else ended or first
            made += some
            closed = last
    if ended and not made:
        lines.need(_SUMMARY.pattern, ended, len(lines), "a whole section or 'Begin of Summary section'")
        lines.need(_END, ended, len(lines), "'End of Summary section'")
    _alone(lines, closed + 1, len(lines))
    if ended:
        words = f"the run from line {ended} on ended before any result, and was left out"
        return [replace(run, doubts=(*run.doubts, note("run-left-out", words, line=ended))) for run in made]
    return made


def _with_extremes(lines: Lines, first: int, last: int, runs: list[Run]) -> list[Run]:
    """Add to the runs of `Star` tests the least and the greatest of the processes, which only the sections have."""
    found: dict[str, list[Reported]] = {}
    for name, statistic, pair in _hpcc_sections.extremes(lines, first, last):
        for (test, _), ((_, quantity, _, value),) in _tests({name: pair}).items():
            found.setdefault(f"HPCC {test}", []).append(metric(quantity, statistic, value))
    return [replace(run, values=(*run.values, *found.get(run.test, []))) for run in runs]


def _blocks(lines: Lines) -> list[tuple[int, int, str]]:
    """Return first and last line and version of each run; an excerpt may begin with any section but HPL."""
    blocks = [(first, last, banner[1]) for first, last, banner in lines.blocks(_BANNER)]
    begun = lines.find(_BEGINS.pattern, 1, len(lines))
    return blocks or ([(begun[0], len(lines), "")] if begun else [])


def _of_sections(lines: Lines, first: int, last: int, version: str) -> list[Run]:
    """Make the runs of the sections of a run without a summary; none if no section has a result."""
    sections, doubts = _hpcc_sections.read(lines, first, last), list[Note]()
    whole = [one for one in sections if one.whole]
    for one in sections:
        if not one.whole:  # only what belongs to the section itself may stand in it
            _alone(lines, one.first + 1, one.last, allowed=one.name in ("HPL", "StarSTREAM", "SingleSTREAM"))
    if not any(one.values for one in sections):
        return []
    words = f"the log ends before HPCC's summary: the results are those of {len(whole)} whole sections"
    broken = [one.name for one in sections if not one.whole]
    words += f", without the section {', '.join(broken)}, which is cut" if broken else ""
    doubts.append(note(CUT.code, words, sections=len(whole)))
    if not version:
        doubts.append(UNTITLED)
    ranks, made = _hpcc_sections.ranks(lines, first, last), list[Run]()
    for one in sections:
        told = [*doubts, note("wrong-result", f"HPCC found a wrong result in {one.name}")] if one.wrong else doubts
        tests = _tests(one.values)
        made += [
            replace(_run(lines, key, values, ranks, told, version), verified=one.verified)
            for key, values in tests.items()
        ]
    return made


def _alone(lines: Lines, first: int, last: int, *, allowed: bool = False) -> None:
    """Refuse separate outputs of HPL or STREAM beside HPCC, because HPCC's output contains both.

    One may be `allowed`.
    """
    for number in range(first, last + 1):
        if _HELD.match(lines.texts[number - 1]):
            if not allowed:
                raise lines.wrong(number, "the output of HPCC alone: split it into one file per program")
            allowed = False


def _summary(
    lines: Lines, start: int, end: int, version: str, empty: Collection[str], lacks: tuple[Note, ...] = ()
) -> list[Run]:
    """Read the lines between two lines of a summary, without the results of empty sections.

    Parameters
    ----------
    lacks : what is missing around an excerpt, which may lack the number of processes and the verdict too.
    """
    pairs = {}
    for number in range(start + 1, end):
        pair = _PAIR.match(lines.texts[number - 1])
        name, equals, _ = lines.texts[number - 1].partition("=")
        if not pair and (_NAMES.fullmatch(name) if equals else _DAMAGED.fullmatch(name)):
            raise lines.wrong(number, "name=value in the summary")
        if pair and (_NAMES.fullmatch(pair[1]) or pair[1] in ("CommWorldProcs", "Success")):
            pairs[pair[1]] = number, lines.number(pair[2], number)
    if not lacks and ("CommWorldProcs" not in pairs or "Success" not in pairs):
        raise malformed(lines.where, start, "a summary without CommWorldProcs and Success", "both of them", REMEDY)
    at, ranks = pairs.get("CommWorldProcs", (0, 0))
    if at and not 1 <= ranks < 10**8:
        raise lines.wrong(at, "a number of processes of 1 or more")
    right = pairs.get("Success", (0, 1.0))[1] == 1
    doubts = [*lacks, *([] if right else [note("wrong-result", "HPCC did not find all results right (Success=0)")])]
    stated = {
        setting_name(line.partition("=")[0]): line.partition("=")[2]
        for line in lines.texts[start : end - 1]
        if _SETTING.match(line)
    }
    tests = _tests({name: pair for name, pair in pairs.items() if name not in empty})
    made = [
        _run(lines, key, values, int(ranks), doubts, version or _version(lines, start, end))
        for key, values in tests.items()
    ]
    return [replace(run, stated=stated) for run in made]


def _version(lines: Lines, start: int, end: int) -> str:
    """Return the version that the first lines of a summary state; empty for a part without them."""
    matches = filter(None, map(_VERSION.match, lines.texts[start : end - 1]))
    found = {match[1]: match[2] for match in matches}
    return (
        ".".join(found[one] for one in ("Major", "Minor", "Micro")) + found.get("Release", "") if len(found) > 2 else ""
    )


def _tests(pairs: Mapping[str, tuple[int, float]]) -> dict[Key, list[tuple[int, str, str, float]]]:
    """Return the values above 0 of each test: line, metric, statistic and value, from names of the summary.

    A value that is smaller than any normal float is memory that HPCC did not set.
    """
    tests: dict[Key, list[tuple[int, str, str, float]]] = {}
    for name, (number, value) in pairs.items():
        if (match := _NAMES.fullmatch(name)) and value > sys.float_info.min:
            key, metric_name, statistic, factor = _meaning(match)
            tests.setdefault(key, []).append((number, metric_name, statistic, value * factor))
    return tests


def _meaning(match: re.Match[str]) -> tuple[Key, str, str, float]:
    """Return the test with its message size, the metric, the statistic and the factor of a name of the summary."""
    if test := match["tflops"]:
        return (test, 0), "performance_GFLOPS", "value", 1e3
    if test := match["gflops"]:
        return (test, 0), "performance_GFLOPS", "value", 1.0
    if test := match["gups"]:
        return (test, 0), "updates_GUPS", "value", 1.0
    if test := match["ptrans"] or match["stream"]:
        return (test, 0), "bandwidth_MBps", "value", 1e3
    test, what = (match["ring"], match["what"]) if match["ring"] else ("PingPong", match["pair"])
    kind = what.partition("_")[0]
    statistic = _STATISTICS.get(match["extreme"] or "", "value")
    return (test, _SIZES[kind]), *(
        ("latency_us", statistic, 1.0) if kind == "Latency" else ("bandwidth_MBps", statistic, 1e3)
    )


_SETTING = re.compile(
    r"(?:HPL_(?:N|NB|nprow|npcol|depth|nbdiv|nbmin|cpfact|crfact|ctop|order)|PTRANS_(?:n|nb|nprow|npcol)|STREAM_\w*Size"
    r"|STREAM_Threads|DGEMM_N|FFT_N|\w*RandomAccess_(?:LCG_)?N|MPIFFT_N|MPIFFT_Procs|FFTEnblk|FFTEnp|FFTEl2size|LANG"
    r"|M_OPENMP|omp_get_\w+|sizeof_\w+|MPIRandomAccess_Algorithm)=."
)


def _run(
    lines: Lines,
    key: Key,
    values: list[tuple[int, str, str, float]],
    ranks: int,
    doubts: list[Note],
    version: str,
) -> Run:
    test, size = key
    numbers = sorted(number for number, *_ in values)
    remarks = []
    if test.startswith("Star"):
        remarks.append(note("mean-over-processes", "Star tests: mean over processes that ran at the same time"))
    if test == "PingPong":
        words = "PingPong: mean over the pairs of processes that were tried, and the least and the greatest pair"
        remarks.append(note("mean-over-pairs", words))
    if test == "PTRANS":
        remarks.append(note("least-of-repetitions", "PTRANS: the least rate of the repetitions of the best setting"))
    if "STREAM" in test:
        remarks.append(note("best-of", "STREAM: the best of its repetitions, not their mean"))
    return Run(
        test=f"HPCC {test}",
        values=tuple(metric(name, statistic, value) for _, name, statistic, value in values),
        line=numbers[0],
        ranks=ranks,
        options={"test": test} | ({"message_size": size} if size else {}),
        version=version,
        verified=not doubts,
        remarks=tuple(remarks),
        doubts=tuple(doubts),
        source="".join(lines.source(number, number) for number in numbers),
    )


def _row(line: str) -> bool:
    """Whether a line is a result in a summary."""
    pair = _PAIR.match(line.strip())
    return bool(pair and _NAMES.fullmatch(pair[1]))


LOG = Log(
    "HPCC",
    ("HPC Challenge Benchmark", "Begin of "),
    _BEGINS,
    runs,
    holds=(hpl.LOG.name, stream.LOG.name),
    rows=_row,
)
