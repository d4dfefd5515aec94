"""From samples to tables: a row per point and launch, a summary row per point, and reported values, one to a row.

Columns are those of `labkit.columns`. Every number in them is worked out here, from the samples, each time: a samples
file is the only truth. Iterations of different launches are never pooled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, notes, stats
from labkit.columns import COLUMNS, METRICS, Metric, split, statistic_column
from labkit.errors import DataError, SpecError
from labkit.records import stated
from labkit.records.aggregate import GIVEN, HEADLINES, KEY, headline_statistic, order, statistic_of, summary
from labkit.records.shown import Value, value_of, why_not
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
    START,
    STOPPED_BY,
    TIMER_OVERHEAD_NS,
    TIMING,
    VERIFIED,
)

__all__ = [
    "GIVEN",
    "HEADLINES",
    "KEY",
    "Value",
    "headline_statistic",
    "order",
    "reported",
    "seconds",
    "statistic_of",
    "summary",
    "table",
    "typed",
    "value_of",
    "values",
    "why_not",
]


def seconds(samples: Samples) -> NDArray[np.float64]:
    """Time of each iteration as its benchmark counts it: the slowest rank's, or the mean over those that time.

    Returns
    -------
    (iterations,), s; empty where a tool reported values only.
    """
    _check(samples)
    if not samples.n:
        return np.empty(0)
    return _reduced(samples)


def _reduced(samples: Samples, phase: str = "time_ns") -> NDArray[np.float64]:
    """One time of each iteration from those of all ranks, s: the slowest, or their mean."""
    how = _benchmark(samples).reduce
    if samples.over:
        reduced = samples.over.reduced(how, phase) * 1e-9
        return (
            reduced / samples.extras["iterations"][0]
            if phase == "time_ns" and "iterations" in samples.extras
            else reduced
        )
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
    times, have = seconds(samples), _benchmark(samples).metrics
    if metric not in have:
        raise DataError(
            f"{samples.spec.benchmark} has no metric {metric!r} of single iterations. It has: {', '.join(have)}."
        )
    work, of = have[metric](samples.spec), METRICS[metric]
    with np.errstate(divide="ignore"):
        return np.asarray(times / work if of.kind == "cost" else work / times) * of.factor


def _benchmark(samples: Samples) -> benchmarks.Benchmark:
    """Benchmark of the samples; it must still exist, for only it knows the work in an iteration."""
    try:
        return benchmarks.get(samples.spec.benchmark)
    except SpecError as error:
        raise DataError(f"{_name(samples)} cannot be read as numbers: {error} Update labkit, or omit it.") from error


def _name(samples: Samples) -> str:
    """How an error calls these samples."""
    return f"Launch {samples.launch} of '{samples.spec}'"


def _check(samples: Samples) -> None:
    """Refuse samples from which only nonsense could follow."""
    times, meta, wrong = samples.time_ns, samples.meta, []
    if samples.origin not in ORIGINS:
        wrong.append(f"has origin={samples.origin!r}, but it must be one of {', '.join(ORIGINS)}")
    if times.ndim != 2 or (samples.n and len(samples.ranks) != len(times)):
        wrong.append(f"has times of shape {times.shape}, but it must be ({len(samples.ranks)} ranks, iterations)")
    elif samples.n and times.min() < 0:
        wrong.append(f"has a time of {times.min()} ns, but no time can be negative: the clock went back")
    if (TIMING.of(meta) or "each") not in ("each", "total"):
        wrong.append(f"has timing={TIMING.of(meta)!r}, but it must be 'each' or 'total'")
    wrong += [f"has {text}" for text in facts.wrong(meta)]
    loops = LOOP_NS.of(meta)
    if LOOP_NS.given(meta) and not (
        _counts(CHUNKS.of(meta), 1) and isinstance(loops, list) and loops and all(_counts(row, 0) for row in loops)
    ):
        wrong.append(
            f"has loop_ns={str(loops)[:60]} and chunks={str(CHUNKS.of(meta))[:60]}, but they must be rows of whole "
            "numbers, ns, and iterations"
        )
    for value in samples.reported:
        if not isinstance(value.value, int | float) or not math.isfinite(value.value):
            wrong.append(f"reports {value.name} {value.statistic}={value.value!r}, but it must be a finite number")
    if wrong:
        raise DataError(
            f"{_name(samples)} {notes.joined(wrong)}. Delete its file; labkit then measures the point again."
        )


def _counts(values: object, least: int) -> bool:
    """Whether these are whole numbers, one at least."""
    return isinstance(values, list) and bool(values) and all(type(v) is int and least <= v < 2**63 for v in values)


def _timing(samples: Samples) -> str:
    """How it was timed; text ``each`` or ``total``."""
    return str(TIMING.of(samples.meta) or dict(samples.spec.options).get("timing") or "each")


def _metric(metric: Metric, work: float, s: Mapping[str, float]) -> dict[str, float]:
    """Columns of one metric from the statistics of the time, s. A rate takes the slow side of each."""
    if metric.kind != "rate":
        found = {name: value / work * metric.factor for name, value in s.items()} if work else {}
    else:
        found = {name: work / value * metric.factor if value else math.nan for name, value in s.items()}
        if "step" in s:
            found["step"] = found["p50"] * s["step"] / s["p50"] if s["p50"] else math.nan
        swapped = {"ci_low": "ci_high", "ci_high": "ci_low", "min": "max", "max": "min"}
        found = {swapped.get(name, name): value for name, value in found.items()}
    return {statistic_column(metric.name, name): value for name, value in found.items()}


def _plain(s: stats.Summary) -> dict[str, float]:
    """Statistics of times by the names of `labkit.columns`, s."""
    quantiles = {"p50": s.p50, "p95": s.p95, "p99": s.p99, "p999": s.p999, "min": s.min, "max": s.max}
    return quantiles | {"ci_low": s.within.low, "ci_high": s.within.high}


def _mean_of_ranks(samples: Samples) -> NDArray[np.float64]:
    """Mean over ranks of each iteration, (1, iterations), s, of a point with statistics over its ranks."""
    assert samples.over is not None
    means: NDArray[np.float64] = (
        samples.over.reduced("mean") * 1e-9 / samples.extras.get("iterations", np.ones((1, 1)))[0]
    )
    return means[None]


def _numbers(samples: Samples) -> dict[str, Any]:
    """Columns that follow from the samples."""
    benchmark, times, total = _benchmark(samples), seconds(samples), _timing(samples) == "total"
    held = np.asarray(samples.extras.get("iterations", np.ones(samples.time_ns.shape)), np.float64)
    # with timing=total a sample stands for as many iterations as its chunk had
    time: dict[str, float] = {"mean": float(np.average(times, weights=held[0]))}
    row: dict[str, Any] = {}
    if not total:
        s, step = stats.summarize(times), stats.clock_step(samples.time_ns) * 1e-9
        time |= _plain(s) | {"step": step}
        width = s.within.relative_width
        row = {"ci_width": math.nan if width is None else width, "spread_within": s.spread}
        row["unreliable"] = s.unreliable
    if benchmark.loop and all(whole := [sum(row) for row in LOOP_NS.of(samples.meta) or [[0]]]):
        time["osu_mean"] = float(np.mean(whole)) * 1e-9 / sum(CHUNKS.of(samples.meta))  # older samples have none
    elif benchmark.reduce == "max" and len(samples.ranks) > 1 and not benchmark.loop:
        every = _mean_of_ranks(samples) if samples.over else samples.seconds
        time["osu_mean"] = stats.mean_over_ranks(every, held[: len(every)])
    for name, units in benchmark.metrics.items():
        row |= _metric(METRICS[name], units(samples.spec), time)
    for phase, name in benchmark.phases.items():
        if phase in samples.extras:
            work = benchmark.phase_work[phase](samples.spec) if phase in benchmark.phase_work else 1.0
            row |= _metric(METRICS[name], work, _plain(stats.summarize(_reduced(samples, phase))))
    means: Any = samples.over.means() if samples.over else samples.phases
    for name, derive in benchmark.derived.items():
        row |= _metric(METRICS[name], 1.0, {"value": derive(means)})
    return row


def _identity(samples: Samples, campaign: str) -> dict[str, Any]:
    """Columns that say what, where and how."""
    spec, meta, host = samples.spec, samples.meta, samples.host
    warnings = samples.warnings
    fastest = samples.over.of_iteration["fastest"] if samples.over else samples.time_ns
    if samples.n and int(fastest.min()) == 0:
        warnings += (notes.note("below-resolution", "a time of 0 ns is below the clock's resolution"),)
    cpu, library = str(host.get("cpu_model") or ""), LIBRARY.of(meta)
    found = benchmarks.find().get(spec.benchmark)
    options = dict(benchmarks.completed(spec).options)
    return {
        "unreliable": (),
        "benchmark": spec.benchmark,
        "message_size_B": spec.size,
        **{name: getattr(spec, name) for name in ("ranks", "ppn", "transport", "launcher", "testbed")},
        "device": spec.device,
        "hosts": ",".join(spec.hosts),
        "bind": spec.bind,
        "library": library,
        "engine": ENGINE.of(meta),
        "origin": samples.origin,
        "launch": samples.launch,
        "n": samples.n,
        "verified": VERIFIED.of(meta),
        "badges": samples.badges,
        "warnings": warnings,
        "stopped_by": STOPPED_BY.of(meta),
        "timing": _timing(samples) if samples.n else str(TIMING.of(meta) or ""),
        "cadence": str(CADENCE.of(meta) or options.get("cadence") or (found.cadence if found else "")),
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
        For times, badges or values that cannot be what they must be.
    """
    rows = []
    for one in samples:
        _check(one)
        what = _identity(one, campaign)
        rows.append(what | _numbers(one) if one.n else stated.orderly(what | stated.numbers(one)))
    return typed(pd.DataFrame(rows), [name for row in rows for name in row])


def typed(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Rows with the columns of a table of records, in their order and of their types, sorted."""
    frame = rows.reindex(columns=order([dict.fromkeys(names)]))
    frame = frame.astype({name: "float64" for name in frame.columns if split(name)})
    frame = frame.astype({name: column.kind for name, column in COLUMNS.items()})
    return frame.sort_values(["benchmark", "message_size_B", "fingerprint", "launch"], ignore_index=True, kind="stable")


def reported(samples: Iterable[Samples]) -> pd.DataFrame:
    """Values that tools gave, tidy: one row per value.

    Returns
    -------
    benchmark, message_size_B, launch, origin, host, badges, fingerprint, name, unit, statistic, value, rank, t, and
    a column for each label, such as ``file_size_B`` of iozone's tables. `rank` and `t` are NaN where a value has none.
    A label must not be named like one of these columns.
    """
    own = ["benchmark", "message_size_B", "launch", "origin", "host", "badges", "fingerprint"]
    fixed = [*own, "name", "unit", "statistic", "value", "rank", "t"]
    rows: list[dict[str, Any]] = []
    for one in samples:
        _check(one)
        what = {name: value for name, value in _identity(one, "").items() if name in own}
        for value in one.reported:
            if clash := set(value.labels) & set(fixed):
                raise DataError(
                    f"{_name(one)} labels a value with {sorted(clash)}, which are columns already. Rename the label."
                )
            plain = {"name": value.name, "unit": value.unit, "statistic": value.statistic, "value": float(value.value)}
            rows.append(what | plain | {"rank": value.rank, "t": value.t} | dict(value.labels))
    labels = dict.fromkeys(name for row in rows for name in row if name not in fixed)
    return pd.DataFrame(rows, columns=[*fixed, *labels]).astype({"rank": "float64", "t": "float64"})
