"""Statistics of launches from their times: what the columns of a metric hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.errors import DataError, SpecError
from labkit.point import notes
from labkit.point.columns import METRICS, Metric, statistic_column
from labkit.point.spec import Spec
from labkit.read.records import resolution
from labkit.read.records.describe import Columns
from labkit.stats.lists import Lists
from labkit.store.samples import ORIGINS, Samples, facts
from labkit.store.samples.batch import Batch
from labkit.store.samples.facts import CHUNKS, LOOP_NS, TIMING

DECILES = tuple(range(10, 100, 10))  # of the iterations of a launch
DECILE = " decile "  # in the names of columns of them


def seconds(samples: Samples) -> NDArray[np.float64]:
    """Time of each iteration as its benchmark defines it: the slowest rank's, or the mean over the timed ranks.

    Returns
    -------
    (iterations,), s; empty if a tool reported values only.
    """
    return seconds_of(Batch.of(samples)).values


def seconds_of(batch: Batch) -> Lists:
    """`seconds` of each launch of a batch, s."""
    check(batch)
    return _reduced(batch) if batch.timed else Lists(np.empty(0), batch.starts)


def _reduced(batch: Batch, phase: str = "time_ns") -> Lists:
    """Reduce the times of all ranks to one time per iteration, s: the slowest, or their mean."""
    how = _benchmark(batch).reduce
    if batch.over:
        return Lists.of([_over(batch, how, phase)])
    times = batch.seconds if phase == "time_ns" else batch.extras[phase] * 1e-9
    return Lists(np.asarray(times.mean(axis=0) if how == "mean" else times.max(axis=0), np.float64), batch.starts)


def values(samples: Samples, metric: str) -> NDArray[np.float64]:
    """Metric of each iteration, (iterations,), in the metric's unit.

    Raises
    ------
    DataError
        If the benchmark has no such metric.
    """
    return values_of(Batch.of(samples), metric).values


def values_of(batch: Batch, metric: str) -> Lists:
    """`values` of each launch of a batch, in the metric's unit."""
    times, benchmark = seconds_of(batch), _benchmark(batch)
    if metric not in benchmark.metrics:
        raise DataError(
            f"{batch.kind.spec.benchmark} has no metric {metric!r} of single iterations. "
            f"It has: {', '.join(benchmark.metrics)}."
        )
    work = _work(benchmarks.typed(batch.kind.spec), batch.sizes, benchmark.metrics[metric])
    return Lists(_as_metric(times.values, np.repeat(work, times.counts), metric), times.starts)


def of_seconds(
    times: NDArray[np.float64], benchmark: benchmarks.Benchmark, metric: str, spec: Spec, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return times of iterations as a metric, (launches, values), in the metric's unit.

    Parameters
    ----------
    times : (launches, values), s.
    benchmark : benchmark that has the metric.
    spec : spec of the launches, but for their sizes.
    sizes : (launches,), B.
    """
    work = _work(benchmarks.typed(spec), sizes, benchmark.metrics[metric])
    return _as_metric(times, work[:, None], metric)


def _as_metric(times: NDArray[np.float64], work: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    """Return times of iterations, s, with this work as a metric, in its unit."""
    definition = METRICS[metric]
    with np.errstate(divide="ignore"):
        return np.asarray(times / work if definition.kind == "cost" else work / times) * definition.factor


def deciles_of(batch: Batch, kind: str) -> NDArray[np.float64]:
    """Return the times behind the deciles of a metric of this kind, of the iterations of each launch.

    Returns
    -------
    (launches, 9), s, times that occurred, those of the metric's slow side last; NaN where iterations were not timed one
    by one.
    """
    if not batch.timed or not _has_deciles(batch):
        return np.full((len(batch), len(DECILES)), math.nan)
    return _deciles(seconds_of(batch).sorted(), kind)


def _deciles(ordered: Lists, kind: str) -> NDArray[np.float64]:
    """`deciles_of` sorted times. A rate's slow side is its lower one, so its deciles are counted from the other end."""
    parts, counts = np.array(DECILES) / 100, ordered.counts[:, None]
    # as numpy.quantile does with method="inverted_cdf"
    places = np.maximum(np.ceil(counts * (1 - parts if kind == "rate" else parts) - 1), 0).astype(np.intp)
    return ordered.at(places if kind == "cost" else counts - 1 - places)


def _has_deciles(batch: Batch) -> bool:
    """Return whether iterations were timed one by one."""
    return TIMING.of(batch.kind.meta) != "total"


def decile_names(kind: str) -> list[str]:
    """Return the names of `deciles_of` a kind of metric among the statistics of `of_times`."""
    return [f"{kind}{DECILE}{part}" for part in DECILES]


def _benchmark(batch: Batch) -> benchmarks.Benchmark:
    """Return the benchmark of launches. It must still exist, because only it knows the work in an iteration."""
    try:
        return benchmarks.get(batch.kind.spec.benchmark)
    except SpecError as error:
        raise DataError(f"{named(batch)} cannot be read as numbers: {error} Update labkit, or omit it.") from error


def _work(spec: Spec, sizes: NDArray[np.int64], units: Callable[[Spec], float]) -> NDArray[np.float64]:
    """Work in an iteration of each launch, (launches,); it depends on the size."""
    distinct, places = np.unique(sizes, return_inverse=True)
    return np.array([units(spec.sized(size)) for size in distinct.tolist()], np.float64)[places]


def named(batch: Batch, row: int = 0) -> str:
    """Name of a launch in errors."""
    return f"Launch {batch.launches[row]} of '{batch.spec(row)}'"


def check(batch: Batch) -> None:
    """Refuse launches that cannot be correct."""
    if not batch.checked:
        check_times(batch)
        check_metadata(batch)


def check_times(batch: Batch) -> None:
    """Refuse times that cannot be correct."""
    times, ranks = batch.time_ns, batch.kind.ranks
    if times.ndim != 2 or (batch.timed and len(ranks) != times.shape[0]):
        shape = (times.shape[0], int(batch.counts[0])) if times.ndim == 2 else times.shape
        _refuse(batch, 0, [f"has times of shape {shape}, but it must be ({len(ranks)} ranks, iterations)"])
    elif times.size and times.min() < 0:
        row = int(np.searchsorted(batch.starts, times.min(axis=0).argmin(), "right")) - 1
        least = times[:, batch.starts[row] : batch.starts[row + 1]].min()
        _refuse(batch, row, [f"has a time of {least} ns, but no time can be negative: the clock went back"])


def _refuse(batch: Batch, row: int, problems: Sequence[str]) -> None:
    """Raise the error about a launch."""
    raise DataError(
        f"{named(batch, row)} {notes.joined(problems)}. Delete its file; labkit then measures the point again."
    )


def check_metadata(batch: Batch) -> None:
    """Refuse metadata and reported values that cannot be correct."""
    kind, meta = batch.kind, batch.kind.meta
    problems, where = list[str](), 0
    if kind.origin not in ORIGINS:
        problems.append(f"has origin={kind.origin!r}, but it must be one of {', '.join(ORIGINS)}")
    if (TIMING.of(meta) or "each") not in ("each", "total"):
        problems.append(f"has timing={TIMING.of(meta)!r}, but it must be 'each' or 'total'")
    problems += [f"has {text}" for text in facts.wrong(meta)]
    given = zip(batch.given(LOOP_NS), batch.fact(CHUNKS), strict=True)
    for row, loops, chunks in ((row, *each) for row, each in enumerate(given) if each[0] is not None):
        if not (_counts(chunks, 1) and isinstance(loops, list) and loops and all(_counts(each, 0) for each in loops)):
            where = where if problems else row
            problems.append(
                f"has loop_ns={str(loops)[:60]} and chunks={str(chunks)[:60]}, but they must be rows of whole "
                "numbers, ns, and iterations"
            )
            break
    for row, values in enumerate(batch.values):
        for one, value in zip(batch.reported, values, strict=True) if not all(map(_finite, values)) else ():
            if not _finite(value):
                where = where if problems else row
                problems.append(f"reports {one.name} {one.statistic}={value!r}, but it must be a finite number")
    if problems:
        _refuse(batch, where, problems)


def _finite(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def _counts(values: object, least: int) -> bool:
    """Return whether a value is a list, not empty, of whole numbers from `least` on."""
    return isinstance(values, list) and bool(values) and all(type(v) is int and least <= v < 2**63 for v in values)


def timing(kind: Samples) -> str:
    """How the point was timed: ``each`` or ``total``."""
    return str(TIMING.of(kind.meta) or kind.spec.values.get("timing") or "each")


def _metric(
    metric: Metric, work: NDArray[np.float64] | float, statistics: Mapping[str, NDArray[np.float64]]
) -> Columns:
    """Columns of one metric from the statistics of the time, s. For a rate they describe the slow side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if metric.kind != "rate":
            if not np.any(work):
                return {}
            columns = {
                name: np.where(np.equal(work, 0), math.nan, value / work * metric.factor)
                for name, value in statistics.items()
            }
        else:
            columns = {
                name: np.where(value == 0, math.nan, work / value * metric.factor) for name, value in statistics.items()
            }
            if "step" in statistics:
                at = "p50" if "p50" in columns else "mean"
                steps = columns[at] * statistics["step"] / statistics[at]
                columns["step"] = np.where(statistics[at] == 0, math.nan, steps)
            swapped = {"ci_low": "ci_high", "ci_high": "ci_low", "min": "max", "max": "min"}
            columns = {swapped.get(name, name): value for name, value in columns.items()}
    return {statistic_column(metric.name, name): value for name, value in columns.items()}


_TIMES = ("p50", "p95", "p99", "p999", "min", "max", "ci_low", "ci_high")  # of `stats.summaries`


def _over(batch: Batch, how: str, phase: str = "time_ns") -> NDArray[np.float64]:
    """One time per iteration of a point with statistics over its ranks, s; of a chunk the mean of its iterations."""
    assert batch.over is not None
    seconds = batch.over.reduced(how, phase) * 1e-9
    if phase == "time_ns" and "iterations" in batch.extras:
        seconds /= batch.extras["iterations"][0]
    return np.asarray(seconds)


def of_times(batch: Batch) -> Columns:
    """Statistics of the times of launches, before the work in an iteration makes metrics of them.

    Returns
    -------
    (launches,) each: the statistics of `stats.summaries` with ``mean``, ``step`` and ``osu_mean``, of the time of an
    iteration, s; those of phases and derived metrics with the name of the phase or metric before them; and ``n``,
    ``n_eff``, ``ci_width``, ``spread_within`` and ``unreliable`` of the records, ``below`` (whether a time is 0),
    ``dependent`` (whether few iterations count as independent), ``clock`` (its step, s), and `deciles_of`
    each kind of metric by their `decile_names`.
    """
    benchmark, times, total = _benchmark(batch), _reduced(batch), timing(batch.kind) == "total"
    if np.isnan(times.values).any():
        broken = Lists(np.isnan(times.values), times.starts).any()
        stats.quantile(times[int(broken.argmax())], 0.5)  # raises the error that says so
    step, counts = resolution.steps_s(batch), times.counts
    fastest = batch.over.of_iteration["fastest"] if batch.over else batch.time_ns.min(axis=0)
    time: Columns = {"mean": _means(times, batch), "n": batch.counts.tolist()}
    time["clock"], time["below"] = step, Lists(fastest == 0, times.starts).any()
    ordered = times.sorted()
    for kind in sorted({METRICS[name].kind for name in benchmark.metrics}) if _has_deciles(batch) else ():
        time |= dict(zip(decile_names(kind), _deciles(ordered, kind).T, strict=True))
    if total:
        # a sample stands for as many iterations as its chunk had
        weights = batch.extras["iterations"][0] if "iterations" in batch.extras else np.ones(len(times.values))
        time["step"] = step / (Lists(weights.astype(np.float64), times.starts).sums() / counts)
    else:
        s = stats.summaries(times, ordered)
        time |= {name: s[name] for name in _TIMES} | {"step": step}
        time |= {"n_eff": s["n_eff"], "ci_width": stats.relative_widths(s), "spread_within": s["spread"]}
        time["dependent"] = s["n_eff"] < stats.DEPENDENT * counts
        few = {n: stats.unreliable(n) for n in {*time["n"]}}
        time["unreliable"] = [few[n] for n in time["n"]]
    if benchmark.reduce == "max" and len(batch.kind.ranks) > 1 and not benchmark.loop:
        every = _over(batch, "mean")[None] if batch.over else batch.seconds
        means = [_means(Lists(row, times.starts), batch, rank) for rank, row in enumerate(every)]
        time["osu_mean"] = np.ascontiguousarray(np.transpose(means)).mean(axis=1)
    for phase in benchmark.phases:
        if phase in batch.extras:
            reduced = _reduced(batch, phase)
            s = stats.summaries(reduced) | {"mean": reduced.sums() / reduced.counts}
            time |= {f"{phase} {name}": s[name] for name in ("mean", *_TIMES)} | {f"{phase} step": step}
    if benchmark.derived:
        phases = [_phases(samples, benchmark) for samples in batch.each()]
        for name, derive in benchmark.derived.items():
            time[f"{name} value"] = np.array([derive(each) for each in phases], np.float64)
    return time


def _means(times: Lists, batch: Batch, rank: int = 0) -> NDArray[np.float64]:
    """Return the mean time of an iteration of each launch; a sample may represent the iterations of a chunk."""
    if "iterations" not in batch.extras:
        return np.asarray(times.sums() / times.counts)
    weights = batch.extras["iterations"][rank].astype(np.float64)
    sums = (Lists(values, times.starts).sums() for values in (times.values * weights, weights))
    return np.asarray(np.divide(*sums))


def of_statistics(batch: Batch, time: Columns) -> Columns:
    """Columns of the records from the statistics of the times of launches.

    Parameters
    ----------
    batch : the launches; their times are not read.
    time : from `of_times`.
    """
    benchmark = _benchmark(batch)
    row: Columns = {name: time[name] for name in ("n_eff", "ci_width", "spread_within", "unreliable") if name in time}
    if benchmark.loop and (loops := _loops(batch)) is not None:
        time = time | {"osu_mean": loops}
    whole = {name: time[name] for name in ("mean", *_TIMES, "step", "osu_mean") if name in time}
    spec = benchmarks.typed(batch.kind.spec)
    for name, units in benchmark.metrics.items():
        row |= _metric(METRICS[name], _work(spec, batch.sizes, units), whole)
    for phase, name in benchmark.phases.items():
        if f"{phase} step" in time:
            of_phase = benchmark.phase_work.get(phase)
            work = 1.0 if of_phase is None else _work(spec, batch.sizes, of_phase)
            row |= _metric(METRICS[name], work, {one: time[f"{phase} {one}"] for one in ("mean", *_TIMES, "step")})
    for name in benchmark.derived:
        row |= _metric(METRICS[name], 1.0, {"value": time[f"{name} value"]})
    return row


def _phases(samples: Samples, benchmark: benchmarks.Benchmark) -> Any:
    """Return what metrics are derived from: the times of all phases, or what answers for them."""
    further = {name: samples.extras[name] for name in benchmark.phases if name in samples.extras}
    return samples.over.means() if samples.over else samples.phases | further


def _loops(batch: Batch) -> NDArray[np.float64] | None:
    """Mean time of an iteration from the times of whole loops, (launches,), s; None if no launch has them."""
    means = [
        float(np.mean(times)) * 1e-9 / sum(chunks) if all(times := [sum(row) for row in loops or [[0]]]) else math.nan
        for loops, chunks in zip(batch.fact(LOOP_NS), batch.fact(CHUNKS), strict=True)
    ]
    return None if all(map(math.isnan, means)) else np.array(means)
