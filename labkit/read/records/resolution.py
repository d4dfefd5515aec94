"""Values with a time of only a few clock steps are bounds, not measurements.

A value counts as coarse if its time is shorter than ten steps of the clock. For a tool or a log, a step is the last
digit of the times that it takes or prints. The interval between two clock reads decides: a single iteration, all
messages of a window, or with ``timing=total`` a whole chunk. A sum over iterations that were timed one by one is no
finer than each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, formats, stats
from labkit.point.columns import METRICS, SHOWN, split, split_end, statistic_column
from labkit.point.notes import Note, badge
from labkit.point.spec import Reported
from labkit.point.units import format_number
from labkit.read.records.aggregate import HEADLINES
from labkit.read.records.factors import plain
from labkit.stats.lists import Lists
from labkit.store.samples import Samples
from labkit.store.samples.batch import Batch
from labkit.store.samples.facts import CLOCK_NS, ENGINE

TICKS = 10  # fewest steps of the clock in a reliable time
STEPS = 2  # fewest steps between two values that differ; each may be wrong by one
CODE = "clock-resolution"  # of the badge
UNRESOLVED = f"the time spans fewer than {TICKS} steps of the clock"
MEANING = f"≥, ≤: {UNRESOLVED}"
MOST = 0.5  # fraction of the launches from which their median is a bound
NO_CLOCK = ("simulated", "modelled")  # origins
_ROUNDING = 1e-6  # of a step
BESIDE = ("benchmark", "origin", "n", "headline")  # columns that say how to read statistics
_SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}  # units of times, in 1 s


def step_s(samples: Samples) -> float:
    """Return the step of the clock behind the times or values of a point, s; NaN if nothing shows it."""
    return float(steps_s(Batch.of(samples))[0])


def steps_s(batch: Batch) -> NDArray[np.float64]:
    """`step_s` of each launch, (launches,)."""
    known = np.full(len(batch), CLOCK_NS.of(batch.kind.meta), np.float64)
    if np.isnan(known).any():  # points of a labkit that did not record the clock
        known[:] = (
            stats.clock_steps(Lists(batch.time_ns, batch.starts))
            if batch.timed
            else formats.clock_ns(ENGINE.of(batch.kind.meta))
        )
    return known * 1e-9


def steps(batch: Batch, columns: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return the resolution of each metric for which a tool reported values, in the metric's unit, (launches,) each."""
    step, found = steps_s(batch), dict[str, NDArray[np.float64]]()
    for name in {parts[0] for column in columns if (parts := split(column))}:
        unit = METRICS[name].unit
        headline = next((s for s in HEADLINES if statistic_column(name, s) in columns), "")
        if unit in _SCALES:
            found[statistic_column(name, "step")] = step * _SCALES[unit]
        elif headline:
            value = columns[statistic_column(name, headline)]
            spans = _spans(batch, Reported(name, unit, headline, math.nan), value)
            with np.errstate(divide="ignore", invalid="ignore"):
                found[statistic_column(name, "step")] = np.where(spans == 0, math.nan, value * step / spans)
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def _spans(batch: Batch, one: Reported, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time behind a value that a tool reported, in each launch, s; NaN if unknown."""
    if one.unit in _SCALES:
        return values / _SCALES[one.unit]
    timed = benchmarks.get(batch.kind.spec.benchmark).timed
    if not timed or one.unit != "MB/s":
        return np.full(len(batch), math.nan)
    work = {size: timed(batch.kind.spec.sized(size), one.labels) for size in {*batch.sizes.tolist()}}
    works = np.array([work[size] for size in batch.sizes.tolist()], np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((works != 0) & (values > 0), works / (values * 1e6), math.nan)


def coarse_values(batch: Batch, place: int) -> NDArray[np.bool_]:
    """Return whether the time behind a value that a tool reported is shorter than ten steps of its clock.

    Parameters
    ----------
    place : place of the value in `Batch.reported`.

    Returns
    -------
    (launches,).
    """
    spans = _spans(batch, batch.reported[place], batch.value(place))
    return np.asarray(spans < (TICKS - _ROUNDING) * steps_s(batch))


def coarse(row: Mapping[str, Any], metric: str, statistic: str = "") -> bool:
    """Return whether the time behind a statistic is shorter than ten steps of the clock.

    Parameters
    ----------
    row : row of `records.summary` or `records.table`.
    metric, statistic : as in `labkit.point.columns`; without a name, the statistic that represents the metric.

    Examples
    --------
    >>> coarse({"latency_us_p50": 9.0, "latency_us_step": 1.0}, "latency_us")
    True
    >>> coarse({"latency_us_p50": 10.0, "latency_us_step": 1.0}, "latency_us")
    False
    """
    return bool(coarse_of(of_row(row, metric), metric, statistic)[0])


Columns = Mapping[str, NDArray[Any]]  # some columns of records or of a summary, each (rows,)


def numbers(columns: Columns, metric: str, statistic: str) -> NDArray[np.float64]:
    """Return a statistic of each row, (rows,); NaN without one."""
    name = statistic_column(metric, statistic)
    if name in columns:
        return np.asarray(columns[name], np.float64)
    return np.full(len(next(iter(columns.values()))), math.nan)


def headlines_of(columns: Columns, metric: str) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Return the statistic that represents a metric in each row, and its value, (rows,) each."""
    value = numbers(columns, metric, "")
    name = np.full(len(value), "", object)
    for statistic in reversed(HEADLINES):
        there = numbers(columns, metric, statistic)
        name[~np.isnan(there)] = statistic
        value = np.where(np.isnan(there), value, there)
    return name, value


def coarse_of(columns: Columns, metric: str, statistic: str = "") -> NDArray[np.bool_]:
    """`coarse` of each row, (rows,)."""
    step = numbers(columns, metric, "step")
    if not (step > 0).any():
        return np.zeros(len(step), bool)
    names, headline = headlines_of(columns, metric)
    if statistic:
        names[:] = statistic
    value = numbers(columns, metric, statistic) if statistic else headline
    if METRICS[metric].kind == "rate":  # the step is that at the headline
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = np.where(value > 0, headline * headline / value, math.nan)
    with np.errstate(invalid="ignore"):
        found = np.asarray((step > 0) & (value < (TICKS - _ROUNDING) * step))
    if "origin" in columns:
        found &= ~np.isin(columns["origin"], NO_CLOCK)
    for row in np.flatnonzero(found & (names == "osu_mean")).tolist():
        found[row] = not _of_loop(
            {name: columns[name][row] for name in ("benchmark", "n") if name in columns}, "osu_mean"
        )
    return found


def spans(columns: Columns, metric: str, statistic: str) -> NDArray[np.float64]:
    """Return how many steps of the clock a statistic of each row spans, (rows,); NaN if that is not known."""
    step = numbers(columns, metric, "step")
    known = step > 0
    if "origin" in columns:
        known &= ~np.isin(columns["origin"], NO_CLOCK)
    counts = np.full(len(step), math.nan)
    counts[known] = numbers(columns, metric, statistic)[known] / step[known]
    return counts


def _of_loop(row: Mapping[str, Any], statistic: str) -> bool:
    """Return whether a statistic comes from the time of a whole loop, which spans many steps."""
    if statistic != "osu_mean" or not row.get("n"):
        return False
    return benchmarks.get(str(row["benchmark"])).loop


def with_badges(
    batch: Batch, columns: Mapping[str, Any], clock: NDArray[np.float64] | None = None
) -> list[tuple[Note, ...]]:
    """Return the badges of each launch, and one more where a metric of its benchmark is coarse.

    A tool's further values are only marked.

    Parameters
    ----------
    columns : columns of the records, each (launches,).
    clock : (launches,), step of the clock behind the times, s; None if a tool reported values only.
    """
    known = benchmarks.runnable(batch.kind.spec.benchmark)
    own = {*known.metrics, *known.phases.values(), *known.derived} if known else {*METRICS}
    names = own & {parts[0] for column in columns if (parts := split(column))}
    there = [(name, s) for name in names for s in SHOWN if statistic_column(name, s) in columns]
    numeric = {column: columns[column] for column in columns if split(column)}
    shown = np.zeros(len(batch), bool)
    for name, statistic in there if batch.kind.origin not in NO_CLOCK else ():
        if not (
            statistic == "osu_mean" and clock is not None and known and known.loop
        ):  # it comes from the time of a whole loop
            shown |= coarse_of(numeric, name, statistic)
    for place, one in enumerate(batch.reported):
        if one.name in own:
            shown |= coarse_values(batch, place)
    if not shown.any():
        return list(columns["badges"])
    steps = (steps_s(batch) if clock is None else clock).tolist()
    marks = {step: badge("clock resolution", step_ns=step * 1e9) for step in {*steps}}
    rows = zip(columns["badges"], shown.tolist(), steps, strict=True)
    return [(*badges, marks[step]) if more else badges for badges, more, step in rows]


def known(seconds: NDArray[np.float64], samples: Samples, work: float = 1.0) -> NDArray[np.float64]:
    """Return times of a point, s, with NaN in place of the coarse ones.

    Parameters
    ----------
    work : by which a time of the samples was divided.
    """
    least = (TICKS - _ROUNDING) * step_s(samples) / work
    return np.where(seconds < least, math.nan, seconds)


def sound(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows with a headline statistic that is no bound. Only these may be a headline or a colour of a map."""
    if statistic_column(metric, "step") not in rows:
        return rows
    return rows[~coarse_of(columns(rows, metric), metric)]


def of_metric(column: str, metric: str) -> bool:
    """Return whether a column holds a statistic of a metric, or an end of its interval."""
    return (split_end(column) or split(column) or ("",))[0] == metric


def of_row(row: Mapping[Any, Any], metric: str) -> Columns:
    """`columns` of one row."""
    names = [name for name in row.keys() if name in BESIDE or of_metric(name, metric)]  # noqa: SIM118  (a Series)
    return {"": np.zeros(1)} | {name: np.array([row[name]]) for name in names if row[name] is not None}


def columns(rows: pd.DataFrame, metric: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a table that statistics of a metric are read from."""
    names = [name for name in rows if name in BESIDE or of_metric(name, metric)]
    return {"": np.arange(len(rows))} | {name: plain(rows[name]) for name in names}


def sign(unit: str) -> str:
    """Return the sign before a coarse value: ``≤`` for a time, ``≥`` for a rate."""
    return "≤ " if unit in _SCALES else "≥ "


def text(value: float, unit: str, share: float, *, none: str = "–") -> str:
    """Return the median over launches of a value that a tool reported, without its unit.

    Parameters
    ----------
    share : part of the launches whose value is coarse; from a half on, their median is a bound.
    none : what represents NaN.
    """
    return (sign(unit) if share >= MOST else "") + format_number(value, none=none)
