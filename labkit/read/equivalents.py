"""Print results in the layouts of the OSU and the Intel MPI benchmarks, for scripts that read those.

Each start of the ranks gives one table, as the programs print it. OMB's collectives show the mean over ranks of each
rank's mean time. IMB shows the slowest rank, the fastest rank and that mean. Between two ranks it is the mean over
iterations. A line above the table says that labkit measured.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from labkit import __version__, benchmarks
from labkit.benchmarks import Benchmark
from labkit.errors import LabkitWarning, SpecError
from labkit.formats import imb, omb
from labkit.formats.reading import omb_names
from labkit.formats.reading.lines import Value
from labkit.formats.reading.table import Row, Table
from labkit.point.columns import METRICS, statistic_column
from labkit.point.spec import Scalar
from labkit.read import records
from labkit.read.records import per_rank
from labkit.store.samples import Samples
from labkit.store.samples.facts import LIBRARY, START, TEST

FORMS = {"omb": "osu_", "imb": "IMB-"}  # format → how its tests begin
TABLES = omb_names.TITLES.keys() - {"osu_init", "osu_hello"}  # these print a sentence
# options that make no other test: -T of OMB; IMB always times the whole loop; osu_oshm_atomics has a row for each call
FREE = ("datatype", "timing", "call")
_DATATYPES = {"float32": "MPI_FLOAT", "float64": "MPI_DOUBLE", "int32": "MPI_INT"}


def tests(benchmark: Benchmark, form: str) -> dict[str, Mapping[str, Scalar]]:
    """Tests of a format that equal a benchmark, each with the options that make the benchmark equal it."""
    equal = {test: options for test, options in benchmark.equivalents.items() if test.startswith(FORMS[form])}
    return {test: options for test, options in equal.items() if form == "imb" or test in TABLES}


def check(name: str, form: str) -> None:
    """Refuse a benchmark that has no test in a format.

    Raises
    ------
    SpecError
        Names those that have one.
    """
    if not tests(benchmarks.get(name), form):
        have = [b.name for b in benchmarks.find().values() if tests(b, form)]
        raise SpecError(f"format={form}, but {name} is not a test of {form.upper()}. Its tests: {', '.join(have)}.")


def test_of(samples: Samples, form: str) -> str:
    """Name of the test that samples are shown as; warns of options that it does not have.

    Raises
    ------
    SpecError
        If there is none.
    """
    check(samples.spec.benchmark, form)
    benchmark, options = benchmarks.get(samples.spec.benchmark), samples.spec.values
    defaults, candidates = dataclasses.asdict(benchmark.options()), []
    for test, test_options in tests(benchmark, form).items():
        theirs = defaults | dict(test_options)
        differ = {k: v for k, v in theirs.items() if options.get(k) not in (None, v) and k not in FREE}
        candidates.append((TEST.of(samples.meta) != test, len(differ), -len(test_options), test, differ))
    *_, test, differ = min(candidates, key=lambda candidate: candidate[:3])
    if differ:
        changes = ", ".join(f"{key}={options[key]} (there {value})" for key, value in differ.items())
        message = f"{samples.spec.benchmark} is shown as {test}, but differs: {changes}."
        warnings.warn(message, LabkitWarning, stacklevel=2)
    if test in benchmark.unlike:
        message = f"{samples.spec.benchmark} is shown as {test}, which differs: {benchmark.unlike[test]}."
        warnings.warn(message, LabkitWarning, stacklevel=2)
    return test


def text(samples: Sequence[Samples], form: str, *, full: bool = False) -> str:
    """Results as OMB or IMB lay them out.

    Parameters
    ----------
    samples : samples of any benchmarks that have a test in the format.
    full : with the columns that OMB's -f adds to collectives.

    Raises
    ------
    SpecError
        If a benchmark has no test in the format.
    """
    groups: dict[tuple[object, ...], list[Samples]] = {}
    for one in samples:
        spec = one.spec.replace(size=0)
        groups.setdefault((test_of(one, form), spec, str(LIBRARY.of(one.meta)), one.launch), []).append(one)
    results = [(str(key[0]), sorted(group, key=lambda one: one.spec.size)) for key, group in groups.items()]
    if form == "omb":
        return omb.write(_omb(test, group, full) for test, group in results)
    return imb.write(_imb_runs(results))


def _measured_by(samples: Samples) -> str:
    """Who measured, for a line above the table."""
    spec, meta = samples.spec, samples.meta
    words = [spec.benchmark, *(f"{key}={value}" for key, value in spec.values.items())]
    program = f"labkit {__version__}" if samples.n else f"{LIBRARY.of(meta)}, imported by labkit {__version__}"
    setting = f"{LIBRARY.of(meta)}, {spec.ranks} ranks, transport {spec.transport}, launch {samples.launch}"
    return f"{program}; {' '.join(words)}; {setting}"


# ---- values ----------------------------------------------------------------------------------------------------


def _row(samples: Samples) -> dict[str, Any]:
    """The record of one point."""
    row: dict[str, Any] = records.table([samples]).iloc[0].to_dict()
    return row


def _value(row: Mapping[str, Any], metric: str, *statistics: str) -> float | None:
    """Value of the first of these statistics that the record has."""
    for statistic in statistics:
        value = row.get(statistic_column(metric, statistic))
        if value is not None and math.isfinite(value):
            return float(value)
    return None


def _latencies(samples: Samples, row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Mean time of the fastest rank, of the slowest, and the mean over ranks, µs."""
    if not samples.n:
        reported = {v.statistic: v.value for v in samples.reported if v.name == "latency_us"}
        mean = _value(row, "latency_us", "osu_mean", "mean", "value", "p50")
        return reported.get("rank_min", mean), reported.get("rank_max", mean), mean
    work = benchmarks.get(samples.spec.benchmark).metrics["latency_us"](benchmarks.typed(samples.spec))
    means = per_rank.means(samples) / work * METRICS["latency_us"].factor
    return float(means.min()), float(means.max()), float(means.mean())


def _bandwidth(samples: Samples, row: Mapping[str, Any], slowest: float | None) -> float | None:
    """Bandwidth in MB/s. If the benchmark has no such metric, it follows from the latency of the slowest rank."""
    bandwidth = _value(row, "bandwidth_MBps", "mean", "value", "p50")
    if samples.spec.size == 0:
        return 0.0
    return samples.spec.size / slowest if bandwidth is None and slowest else bandwidth


def _iterations(samples: Samples) -> int:
    """Number of timed iterations; 0 if unknown."""
    if samples.n:
        return int(np.sum(samples.extras["iterations"][0])) if "iterations" in samples.extras else samples.n
    return samples.effort.iterations or 0


def _cells(samples: Samples, test: str, columns: Sequence[str]) -> Row:
    """One row of a table of a test."""
    row = _row(samples)
    benchmark, spec = benchmarks.get(samples.spec.benchmark), samples.spec
    convert = benchmark.converted.get(test)
    factors: Mapping[str, float] = convert(spec) if convert else {}
    latencies = "latency_us" in benchmark.metrics or not samples.n
    low, high, mean = _latencies(samples, row) if latencies else (None, None, None)
    bandwidth, order = _bandwidth(samples, row, high), ("osu_mean", "mean", "value", "p50")
    if benchmark.loop and test.startswith("osu_"):
        mean = _value(row, "latency_us", "osu_mean") or mean
        bandwidth = _value(row, "bandwidth_MBps", "osu_mean") or bandwidth
    low, high, mean = (_divided(value, factors.get("latency_us", 1)) for value in (low, high, mean))
    bandwidth = _divided(bandwidth, factors.get("bandwidth_MBps", 1))
    rate = _divided(_value(row, "message_rate_per_s", *order), factors.get("message_rate_per_s", 1))
    values: dict[str, Value] = {
        **dict.fromkeys(("Avg Latency(us)", "Latency (us)", "Overall(us)", "t_avg[usec]"), mean),
        **dict.fromkeys(("Min Latency(us)", "t_min[usec]"), low),
        **dict.fromkeys(("Max Latency(us)", "t_max[usec]", "t_ovrl[usec]"), high),
        "t[usec]": mean if test.startswith("IMB-P2P ") else high,
        **dict.fromkeys(("Bandwidth (MB/s)", "MB/s", "Mbytes/sec"), bandwidth),
        **dict.fromkeys(("Compute(us)", "t_CPU[usec]"), _value(row, "compute_us", *order)),
        **dict.fromkeys(("Pure Comm.(us)", "t_pure[usec]"), _value(row, "pure_us", *order)),
        **dict.fromkeys(("Iterations", "#repetitions"), _iterations(samples)),
        "Messages/s": rate,
        "Operation": str(spec.values.get("call")),
        "Million ops/s": _divided(_value(row, "operation_rate_per_s", *order), 1e6),
        "Msg/sec": _whole(rate),
        "Overlap(%)": _value(row, "overlap_osu_percent", *order),
        "overlap[%]": _value(row, "overlap_imb_percent", *order),
    }
    size = round(spec.size / factors.get("size", 1)) if benchmark.sized else None
    return Row(size, tuple(values.get(column) for column in columns))


def _divided(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


# ---- layouts ---------------------------------------------------------------------------------------------------


def _omb(test: str, group: Sequence[Samples], full: bool) -> Table:
    """A table of OMB."""
    first = group[0]
    benchmark, options = benchmarks.get(first.spec.benchmark), first.spec.values
    rate = next(iter(benchmark.metrics)) == "bandwidth_MBps"
    columns = omb_names.columns(test, rate=rate, full=full)
    datatype = _DATATYPES.get(str(options.get("datatype")), "MPI_CHAR") if benchmark.sized else ""
    remarks = [f"Measured by: {_measured_by(first)}"]
    if benchmark.sampled[0] and first.n:
        of_median, of_value = benchmark.sampled
        remarks.append(f"The values are {of_value}, as in OMB. labkit's median is the median of {of_median}")
    above = omb_names.preamble(
        test,
        datatype,
        *remarks,
        ranks=first.spec.ranks,
        window=int(str(options.get("window") or 64)),
    )
    rows = tuple(_cells(one, test, columns) for one in group)
    return Table(test, omb_names.TITLES[test], omb_names.VERSION, {}, columns, rows, above)


def _imb_runs(results: Sequence[tuple[str, Sequence[Samples]]]) -> list[Table]:
    """Tables of IMB. The results of each of its programs begin and end like one run."""
    tables: list[Table] = []
    for program in dict.fromkeys(test.partition(" ")[0] for test, _ in results):
        of_program = [(test, group) for test, group in results if test.partition(" ")[0] == program]
        names = list(dict.fromkeys(test.partition(" ")[2] for test, _ in of_program))
        facts = _facts([one for _, group in of_program for one in group])
        above: tuple[str, ...] = imb.opening(program, facts, names)
        for test, group in of_program:
            columns, spec = imb.columns(test), group[0].spec
            threads = benchmarks.threads(spec) if program == "IMB-MT" else 1
            sized = benchmarks.get(spec.benchmark).sized
            rows = [_cells(one, test, columns) for one in group]
            if threads > 1:
                rows = [dataclasses.replace(row, size=(row.size or 0) * threads) for row in rows]
            above += imb.above(test, spec.ranks, columns, sized=sized, threads=threads)
            tables.append(Table(test, test.partition(" ")[2], imb.VERSION, {}, columns, tuple(rows), above))
            above = ()
        end = ("", "") if program == "IMB-MT" else ("", "", imb.END, "")
        tables[-1] = dataclasses.replace(tables[-1], closing=end)
    return tables


def _facts(group: Sequence[Samples]) -> list[str]:
    """Lines about the run and the machine."""
    first = group[0]
    sizes = [one.spec.size for one in group]
    start = str(START.of(first.meta) or "")
    facts = {
        "Date": datetime.fromisoformat(start).ctime() if start else "",
        "Machine": first.host.get("architecture"),
        "System": "Linux",
        "Release": first.host.get("kernel"),
        "MPI Version": LIBRARY.of(first.meta),
    }
    lines = [f"{key:22}: {value}" for key, value in facts.items() if value]
    lines += [f"{'Measured by':22}: {text}" for text in dict.fromkeys(map(_measured_by, group))]
    lengths = [
        f"{word} message length in bytes:   {pick(sizes)}" for word, pick in (("Minimum", min), ("Maximum", max))
    ]
    return [*lines, *lengths]
