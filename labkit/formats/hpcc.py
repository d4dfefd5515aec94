"""HPCC's summary (``hpccoutf.txt``, ``Begin of Summary section``): a line ``name=value`` for every result.

``MPI`` tests run on all processes together. ``Star`` tests run on all at the same time, each for itself; the summary
has the mean over processes. ``Single`` tests run on one process while the others wait. The latencies of the ping-pong
are half a round trip of 8 B, the bandwidths those of 2,000,000 B, over the pairs that were tried; those of the rings
are per process. 1 GB is 10^9 B. STREAM's numbers are the best of its repetitions, as STREAM's own.
"""

from __future__ import annotations

import re
from dataclasses import replace

from labkit.formats import hpl, malformed, metric, stream
from labkit.formats.reading.log import NUMBER, REMEDY, Lines, Log, Run, setting_name
from labkit.point.notes import Note, note

_BEGINS = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version (\S+)")
_HELD = re.compile(f"{hpl.LOG.begins.pattern}|{stream.LOG.begins.pattern}")
_PAIR = re.compile(rf"(\w+)=({NUMBER})$")
_DAMAGED = re.compile(r"(?:HPL|PTRANS|MPI|Star|Single|Max|Min|Avg|Naturally|Randomly)\w*")  # the begin of a name
_SUMMARY, _END = re.compile(r"Begin of Summary section"), r"End of Summary section"
_SIZES = {"Latency": 8, "Bandwidth": 2_000_000}
_NAMES = re.compile(
    r"(?P<tflops>HPL)_Tflops|(?P<gflops>(?:Star|Single)(?:DGEMM|FFT)|MPIFFT)_Gflops"
    r"|(?P<gups>(?:MPI|Star|Single)RandomAccess(?:_LCG)?)_GUPs|(?P<ptrans>PTRANS)_GBs"
    r"|(?P<stream>(?:Star|Single)STREAM_(?:Copy|Scale|Add|Triad))"
    r"|(?P<extreme>Max|Min|Avg)PingPong(?P<pair>Latency_usec|Bandwidth_GBytes)"
    r"|(?P<ring>(?:Naturally|Randomly)OrderedRing)(?P<what>Latency_usec|Bandwidth_GBytes)"
)
_STATISTICS = {"Max": "max", "Min": "min", "Avg": "value"}  # over pairs of processes
Key = tuple[str, int]


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each test of each summary."""
    lines, made, closed, ended = Lines(text, where), list[Run](), 0, 0
    blocks = list(lines.blocks(_BEGINS))
    some = any(lines.find(_END, first, last) for first, last, _ in blocks)
    for first, last, version in blocks:
        if some and last < len(lines) and not lines.find(_SUMMARY.pattern, first, last):  # HPCC appends to its file
            ended = ended or first
            _alone(lines, closed + 1, first)
            closed = last
            continue
        start, _ = lines.need(_SUMMARY.pattern, first, last, "'Begin of Summary section'")
        end, _ = lines.need(_END, start, last, "'End of Summary section'")
        made += _summary(lines, start, end, version[1])
        _alone(lines, closed + 1, first)
        closed = end
    _alone(lines, closed + 1, len(lines))
    if ended:
        told = note(
            "run-left-out", f"the run from line {ended} on ended before its summary, and was left out", line=ended
        )
        return [replace(run, doubts=(*run.doubts, told)) for run in made]
    return made


def _alone(lines: Lines, first: int, last: int) -> None:
    """Refuse HPL or STREAM beside HPCC, whose own output contains both."""
    for number in range(first, last + 1):
        if _HELD.match(lines.texts[number - 1]):
            raise lines.wrong(number, "the output of HPCC alone: split it into one file per program")


def _summary(lines: Lines, start: int, end: int, version: str) -> list[Run]:
    """Read one summary."""
    pairs = {}
    for number in range(start + 1, end):
        pair = _PAIR.match(lines.texts[number - 1])
        name, equals, _ = lines.texts[number - 1].partition("=")
        if not pair and (_NAMES.fullmatch(name) if equals else _DAMAGED.fullmatch(name)):
            raise lines.wrong(number, "name=value in the summary")
        if pair and (_NAMES.fullmatch(pair[1]) or pair[1] in ("CommWorldProcs", "Success")):
            pairs[pair[1]] = number, lines.number(pair[2], number)
    if "CommWorldProcs" not in pairs or "Success" not in pairs:
        raise malformed(lines.where, start, "a summary without CommWorldProcs and Success", "both of them", REMEDY)
    ranks, right = int(pairs["CommWorldProcs"][1]), pairs["Success"][1] == 1
    if not 1 <= ranks < 10**8:
        raise lines.wrong(pairs["CommWorldProcs"][0], "a number of processes of 1 or more")
    tests: dict[Key, list[tuple[int, str, str, float]]] = {}
    for name, (number, value) in pairs.items():
        if (match := _NAMES.fullmatch(name)) and value > 0:
            key, metric_name, statistic, factor = _meaning(match)
            tests.setdefault(key, []).append((number, metric_name, statistic, value * factor))
    doubts = [] if right else [note("wrong-result", "HPCC did not find all results right (Success=0)")]
    stated = {
        setting_name(line.partition("=")[0]): line.partition("=")[2]
        for line in lines.texts[start : end - 1]
        if _SETTING.match(line)
    }
    made = [_run(lines, key, values, ranks, doubts, version) for key, values in tests.items()]
    return [replace(run, stated=stated) for run in made]


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
        remarks.append(note("mean-over-pairs", "PingPong: mean over the pairs of processes that were tried"))
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


LOG = Log("HPCC", ("HPC Challenge Benchmark",), _BEGINS, runs, holds=(hpl.LOG.name, stream.LOG.name))
