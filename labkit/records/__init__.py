"""Tables made from samples: a row per point and launch, a summary row per point, a row per reported value.

Columns are those of `labkit.columns`. This package computes every number in them from the samples, which are the only
truth. It never pools iterations of different launches.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, notes, stats
from labkit.columns import COLUMNS, METRICS, STATISTICS, Metric, split, statistic_column
from labkit.errors import DataError, SpecError
from labkit.records import resolution
from labkit.records.aggregate import (
    GIVEN,
    HEADLINES,
    KEY,
    by_benchmark,
    has,
    headline_statistic,
    order,
    statistic_of,
    statistics_of,
    summary,
)
from labkit.records.factors import stated
from labkit.records.resolution import coarse, sound
from labkit.records.value import Value, value_of, why_not
from labkit.samples import ORIGINS, Samples, facts
from labkit.samples.facts import (
    ALLOCATION,
    CADENCE,
    CAMPAIGN,
    CHUNKS,
    ELAPSED,
    ENGINE,
    FINGERPRINT,
    LIBRARY,
    LOOP_NS,
    RANKS_ASSUMED,
    START,
    STOPPED_BY,
    TIMER_OVERHEAD_NS,
    TIMING,
    VERIFIED,
)
from labkit.spec import Reported

__all__ = [
    "GIVEN",
    "HEADLINES",
    "KEY",
    "Value",
    "by_benchmark",
    "coarse",
    "has",
    "headline_statistic",
    "order",
    "reported",
    "seconds",
    "sound",
    "statistic_of",
    "statistics_of",
    "summary",
    "table",
    "typed",
    "value_of",
    "values",
    "why_not",
]


def seconds(samples: Samples) -> NDArray[np.float64]:
    """Time of each iteration as its benchmark defines it: that of the slowest rank, or the mean over the timed ranks.

    Returns
    -------
    (iterations,), s; empty where a tool reported values only.
    """
    _check(samples)
    if not samples.n:
        return np.empty(0)
    return _reduced(samples)


def _reduced(samples: Samples, phase: str = "time_ns") -> NDArray[np.float64]:
    """Reduce the times of all ranks to one time per iteration, s: the slowest, or their mean."""
    how = _benchmark(samples).reduce
    if samples.over:
        return _over(samples, how, phase)
    times = samples.seconds if phase == "time_ns" else samples.extras[phase] * 1e-9
    if how == "mean":
        mean: NDArray[np.float64] = times.mean(axis=0)
        return mean
    return stats.slowest(times)


def values(samples: Samples, metric: str) -> NDArray[np.float64]:
    """Metric of each iteration, (iterations,), in the metric's unit.

    Raises
    ------
    DataError
        If the benchmark has no such metric.
    """
    times, metrics = seconds(samples), _benchmark(samples).metrics
    if metric not in metrics:
        raise DataError(
            f"{samples.spec.benchmark} has no metric {metric!r} of single iterations. It has: {', '.join(metrics)}."
        )
    work, definition = metrics[metric](samples.spec), METRICS[metric]
    with np.errstate(divide="ignore"):
        return np.asarray(times / work if definition.kind == "cost" else work / times) * definition.factor


def ticks(samples: Samples) -> float:
    """Return how many steps of the clock the median time of an iteration spans; NaN where no clock is known."""
    step = resolution.step_s(samples) if samples.origin not in resolution.NO_CLOCK else math.nan
    if _timing(samples) == "total":  # the clock is read around all iterations of a chunk
        step /= float(np.mean(samples.extras.get("iterations", 1)))
    return float(np.median(seconds(samples))) / step if step > 0 else math.nan


def _benchmark(samples: Samples) -> benchmarks.Benchmark:
    """Return the benchmark of the samples. It must still exist, because only it knows the work in an iteration."""
    try:
        return benchmarks.get(samples.spec.benchmark)
    except SpecError as error:
        raise DataError(f"{_name(samples)} cannot be read as numbers: {error} Update labkit, or omit it.") from error


def _name(samples: Samples) -> str:
    """Name of these samples in errors."""
    return f"Launch {samples.launch} of '{samples.spec}'"


def _check(samples: Samples) -> None:
    """Refuse samples that cannot be correct."""
    times, meta, problems = samples.time_ns, samples.meta, []
    if samples.origin not in ORIGINS:
        problems.append(f"has origin={samples.origin!r}, but it must be one of {', '.join(ORIGINS)}")
    if times.ndim != 2 or (samples.n and len(samples.ranks) != len(times)):
        problems.append(f"has times of shape {times.shape}, but it must be ({len(samples.ranks)} ranks, iterations)")
    elif samples.n and times.min() < 0:
        problems.append(f"has a time of {times.min()} ns, but no time can be negative: the clock went back")
    if (TIMING.of(meta) or "each") not in ("each", "total"):
        problems.append(f"has timing={TIMING.of(meta)!r}, but it must be 'each' or 'total'")
    problems += [f"has {text}" for text in facts.wrong(meta)]
    loops = LOOP_NS.of(meta)
    if LOOP_NS.given(meta) and not (
        _counts(CHUNKS.of(meta), 1) and isinstance(loops, list) and loops and all(_counts(row, 0) for row in loops)
    ):
        problems.append(
            f"has loop_ns={str(loops)[:60]} and chunks={str(CHUNKS.of(meta))[:60]}, but they must be rows of whole "
            "numbers, ns, and iterations"
        )
    for value in samples.reported:
        if not isinstance(value.value, int | float) or not math.isfinite(value.value):
            problems.append(f"reports {value.name} {value.statistic}={value.value!r}, but it must be a finite number")
    if problems:
        raise DataError(
            f"{_name(samples)} {notes.joined(problems)}. Delete its file; labkit then measures the point again."
        )


def _counts(values: object, least: int) -> bool:
    """Return whether a value is a list, not empty, of whole numbers from `least` on."""
    return isinstance(values, list) and bool(values) and all(type(v) is int and least <= v < 2**63 for v in values)


def _timing(samples: Samples) -> str:
    """How the point was timed: ``each`` or ``total``."""
    return str(TIMING.of(samples.meta) or dict(samples.spec.options).get("timing") or "each")


def _metric(metric: Metric, work: float, statistics: Mapping[str, float]) -> dict[str, float]:
    """Columns of one metric from the statistics of the time, s. For a rate they describe the slow side."""
    if metric.kind != "rate":
        columns = {name: value / work * metric.factor for name, value in statistics.items()} if work else {}
    else:
        columns = {name: work / value * metric.factor if value else math.nan for name, value in statistics.items()}
        if "step" in statistics:
            at = "p50" if "p50" in columns else "mean"
            columns["step"] = columns[at] * statistics["step"] / statistics[at] if statistics[at] else math.nan
        swapped = {"ci_low": "ci_high", "ci_high": "ci_low", "min": "max", "max": "min"}
        columns = {swapped.get(name, name): value for name, value in columns.items()}
    return {statistic_column(metric.name, name): value for name, value in columns.items()}


def _plain(s: stats.Summary) -> dict[str, float]:
    """Statistics of times by the names of `labkit.columns`, s."""
    quantiles = {"p50": s.p50, "p95": s.p95, "p99": s.p99, "p999": s.p999, "min": s.min, "max": s.max}
    return quantiles | {"ci_low": s.within.low, "ci_high": s.within.high}


def _over(samples: Samples, how: str, phase: str = "time_ns") -> NDArray[np.float64]:
    """One time per iteration of a point with statistics over its ranks, s; of a chunk the mean of its iterations."""
    assert samples.over is not None
    seconds = samples.over.reduced(how, phase) * 1e-9
    if phase == "time_ns" and "iterations" in samples.extras:
        seconds /= samples.extras["iterations"][0]
    return seconds


def _numbers(samples: Samples) -> dict[str, Any]:
    """Columns that follow from the samples."""
    benchmark, times, total = _benchmark(samples), seconds(samples), _timing(samples) == "total"
    iterations = np.asarray(samples.extras.get("iterations", np.ones(samples.time_ns.shape)), np.float64)
    # with timing=total a sample stands for as many iterations as its chunk had
    time: dict[str, float] = {"mean": float(np.average(times, weights=iterations[0]))}
    row: dict[str, Any] = {}
    step = resolution.step_s(samples)
    if total:
        time["step"] = step / float(iterations[0].mean())
    else:
        s = stats.summarize(times)
        time |= _plain(s) | {"step": step}
        width = s.within.relative_width
        row = {"ci_width": math.nan if width is None else width, "spread_within": s.spread}
        row["unreliable"] = s.unreliable
    if benchmark.loop and all(loop_times := [sum(row) for row in LOOP_NS.of(samples.meta) or [[0]]]):
        time["osu_mean"] = float(np.mean(loop_times)) * 1e-9 / sum(CHUNKS.of(samples.meta))  # older samples have none
    elif benchmark.reduce == "max" and len(samples.ranks) > 1 and not benchmark.loop:
        every = _over(samples, "mean")[None] if samples.over else samples.seconds
        time["osu_mean"] = stats.mean_over_ranks(every, iterations[: len(every)])
    for name, units in benchmark.metrics.items():
        row |= _metric(METRICS[name], units(samples.spec), time)
    for phase, name in benchmark.phases.items():
        if phase in samples.extras:
            work = benchmark.phase_work[phase](samples.spec) if phase in benchmark.phase_work else 1.0
            row |= _metric(METRICS[name], work, _plain(stats.summarize(_reduced(samples, phase))) | {"step": step})
    further = {name: samples.extras[name] for name in benchmark.phases if name in samples.extras}
    means: Any = samples.over.means() if samples.over else samples.phases | further
    for name, derive in benchmark.derived.items():
        row |= _metric(METRICS[name], 1.0, {"value": derive(means)})
    return row


def _reported_numbers(samples: Samples) -> dict[str, float]:
    """Columns from the values that a tool reported; the others are in the column `further`."""
    row = {statistic_column(v.name, v.statistic): float(v.value) for v in samples.reported if _has_column(v)}
    return row | resolution.steps(samples, row)


def _has_column(value: Reported) -> bool:
    """Return whether a value that a tool reported has a column of its own."""
    whole = value.rank is None and value.t is None and not value.labels
    return whole and value.name in METRICS and value.statistic in STATISTICS


def _further(samples: Samples) -> tuple[notes.Note, ...]:
    """Return the values without a column, each as a note."""
    found = []
    for value in samples.reported:
        if not _has_column(value):
            parts = value.as_dict()
            labels = parts.pop("labels", {})
            where = {name: parts[name] for name in ("rank", "t") if name in parts} | labels
            name = ", ".join([value.name, value.statistic, *(f"{name} {level}" for name, level in where.items())])
            shown = resolution.text(value.value, value.unit, resolution.coarse_value(samples, value))
            text = f"{name}: {shown} {value.unit}".rstrip()
            found.append(notes.Note("value", text, tuple((parts | labels | {"shown": shown}).items())))
    return tuple(found)


_PERCENTILES = sorted(  # names are p and the digits of a percentage: p5, p50, p995
    (name for name in STATISTICS if re.fullmatch(r"p\d+", name)),
    key=lambda name: float(name[1:3] + "." + name[3:] + "0"),
)


def _consistent(row: dict[str, Any]) -> dict[str, Any]:
    """Remove a tool's inconsistent percentiles from a row: those beyond its extremes, or below a smaller percentile.

    Tools that count in a histogram can report a percentile above the maximum. labkit does not show such a value.
    """
    ignored = []
    for metric in dict.fromkeys(parts[0] for name in row if (parts := split(name))):
        sign = -1 if METRICS[metric].kind == "rate" else 1  # the tail of a rate is its slow side
        ends = [sign * row.get(statistic_column(metric, end), math.nan) for end in ("min", "max")[::sign]]
        last, limit = -math.inf if math.isnan(ends[0]) else ends[0], ends[1]
        for name in _PERCENTILES:
            value = sign * row.get(column := statistic_column(metric, name), math.nan)
            if value < last or value > limit:
                unit, words = METRICS[metric].unit, STATISTICS[name].label
                text = (
                    f"the tool's {words} of {sign * value:.6g} {unit} contradicts its other statistics, so labkit "
                    "ignores it"
                )
                ignored.append(notes.note("contradiction", text, column=column, value=sign * value))
                del row[column]
            elif value == value:
                last = value
    row["warnings"] = (*row["warnings"], *ignored)
    return row


def _identity(samples: Samples, campaign: str) -> dict[str, Any]:
    """Columns that say what was measured, where and how."""
    spec, meta, host = samples.spec, samples.meta, samples.host
    warnings = samples.warnings
    fastest = samples.over.of_iteration["fastest"] if samples.over else samples.time_ns
    if samples.n and int(fastest.min()) == 0:
        warnings += (notes.note("below-resolution", "a time of 0 ns is below the clock's resolution"),)
    cpu, library = str(host.get("cpu_model") or ""), LIBRARY.of(meta)
    benchmark = benchmarks.find().get(spec.benchmark)
    options = dict(benchmarks.completed(spec).options)
    return {
        "unreliable": (),
        "benchmark": spec.benchmark,
        "message_size_B": spec.size,
        **{name: getattr(spec, name) for name in ("ranks", "ppn", "testbed")},
        **stated({name: getattr(spec, name) for name in ("transport", "launcher", "bind")}, samples.origin),
        "ranks_assumed": notes.has(warnings, RANKS_ASSUMED),
        "device": spec.device,
        "hosts": ",".join(spec.hosts),
        "library": library,
        "engine": ENGINE.of(meta),
        "origin": samples.origin,
        "launch": samples.launch,
        "n": samples.n,
        "verified": VERIFIED.of(meta),
        "badges": samples.badges,
        "warnings": warnings,
        "further": _further(samples),
        "stopped_by": STOPPED_BY.of(meta),
        "timing": _timing(samples) if samples.n else str(TIMING.of(meta) or ""),
        "cadence": str(CADENCE.of(meta) or options.get("cadence") or (benchmark.cadence if benchmark else "")),
        "timer_overhead_ns": TIMER_OVERHEAD_NS.of(meta),
        "options": json.dumps(options, sort_keys=True),
        "host": str(host.get("name") or host.get("hostname") or (spec.hosts[0] if spec.hosts else "")),
        "cpu_model": cpu,
        "start": START.of(meta),
        "elapsed_s": ELAPSED.of(meta),
        "fingerprint": str(FINGERPRINT.of(meta) or spec.fingerprint({"library": library, "cpu_model": cpu})),
        "allocation": str(ALLOCATION.of(meta).get("name") or ""),
        "campaign": str(CAMPAIGN.of(meta) or campaign),
        **{f"option_{name}": value for name, value in options.items()},
        **{f"env_{name}": value for name, value in spec.environment},
    }


def table(samples: Iterable[Samples], *, campaign: str = "") -> pd.DataFrame:
    """Tabulate samples as records: one row per point and launch.

    Parameters
    ----------
    samples : any mix of benchmarks and origins.
    campaign : name for the column of that name.

    Returns
    -------
    Every column of `labkit.columns.COLUMNS`, then ``<metric>_<statistic>`` of the metrics that occur, then
    ``option_<name>`` and ``env_<NAME>``. Sorted by benchmark, size and launch.

    Raises
    ------
    DataError
        If times, badges or values cannot be correct.
    """
    rows = []
    for point in samples:
        _check(point)
        identity = _identity(point, campaign)
        row = identity | _numbers(point) if point.n else _consistent(identity | _reported_numbers(point))
        rows.append(row | {"badges": (*row["badges"], *resolution.badges(point, row))})
    return typed(pd.DataFrame(rows), [name for row in rows for name in row])


def typed(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return rows as a table of records: columns in order and of their types, rows sorted."""
    kinds = {name: column.kind for name, column in COLUMNS.items()}
    kinds |= {name: "float64" for name in rows.columns if split(name)}
    there = {str(name): rows[name] for name in rows.columns}
    nothing = pd.Series(math.nan, index=rows.index)

    def of_kind(name: str) -> pd.Series:
        values, kind = there.get(name, nothing), kinds.get(name)
        # astype of the whole table would copy all of it for each column
        return values if kind is None or values.dtype == kind else values.astype(kind)

    frame = pd.DataFrame({name: of_kind(name) for name in order([dict.fromkeys(names)])}, index=rows.index)
    keys = ["benchmark", "message_size_B", "fingerprint", "launch"]
    # in one block of each type: hundreds take many times as long to filter
    return frame.sort_values(keys, ignore_index=True, kind="stable").copy()


def reported(samples: Iterable[Samples]) -> pd.DataFrame:
    """Return the values that tools reported, tidy: one row per value.

    Returns
    -------
    benchmark, message_size_B, launch, origin, host, badges, fingerprint, name, unit, statistic, value, coarse (whether
    the time behind it is shorter than ten steps of the clock), rank, t, and a column for each label, such as
    ``file_size_B`` of iozone's tables. `rank` and `t` are NaN where a value has none. A label must not be named like
    one of these columns.
    """
    point_columns = ["benchmark", "message_size_B", "launch", "origin", "host", "badges", "fingerprint"]
    columns = [*point_columns, "name", "unit", "statistic", "value", "coarse", "rank", "t"]
    rows: list[dict[str, Any]] = []
    for point in samples:
        _check(point)
        identity = {name: value for name, value in _identity(point, "").items() if name in point_columns}
        for value in point.reported:
            if clash := set(value.labels) & set(columns):
                raise DataError(
                    f"{_name(point)} labels a value with {sorted(clash)}, which are columns already. Rename the label."
                )
            statistic = {
                "name": value.name,
                "unit": value.unit,
                "statistic": value.statistic,
                "value": float(value.value),
                "coarse": resolution.coarse_value(point, value),
            }
            rows.append(identity | statistic | {"rank": value.rank, "t": value.t} | dict(value.labels))
    labels = dict.fromkeys(name for row in rows for name in row if name not in columns)
    return pd.DataFrame(rows, columns=[*columns, *labels]).astype({"rank": "float64", "t": "float64"})
