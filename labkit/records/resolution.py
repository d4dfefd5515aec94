"""Values whose time spans few steps of the clock are bounds, not measurements.

A value counts as coarse if its time is shorter than ten steps of the clock. For a tool or a log, a step is the last
digit of the times that it takes or prints. The interval between two clock reads decides: a single iteration, all
messages of a window, or with ``timing=total`` a whole chunk. A sum over iterations that were timed one by one is no
finer than each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, formats, stats
from labkit.columns import METRICS, SHOWN, split, split_end, statistic_column
from labkit.notes import Note, badge
from labkit.records.aggregate import HEADLINES, statistic_of
from labkit.samples import Samples
from labkit.samples.facts import CLOCK_NS, ENGINE
from labkit.spec import Reported
from labkit.units import format_number

TICKS = 10  # fewest steps of the clock in a reliable time
STEPS = 2  # fewest steps between two values that differ; each may be wrong by one
CODE = "clock-resolution"  # of the badge
MEANING = f"≥, ≤: the time spans fewer than {TICKS} steps of the clock"
MOST = 0.5  # fraction of the launches from which their median is a bound
NO_CLOCK = ("simulated", "modelled")  # origins
_ROUNDING = 1e-6  # of a step
BESIDE = ("benchmark", "origin", "n", "headline")  # columns that say how to read statistics
_SCALES = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}  # units of times, in 1 s


def step_s(samples: Samples) -> float:
    """Return the step of the clock behind the times or values of a point, s; NaN if nothing shows it."""
    known = CLOCK_NS.of(samples.meta)
    if known != known:  # points of a labkit that did not record the clock
        known = float(stats.clock_step(samples.time_ns)) if samples.n else formats.clock_ns(ENGINE.of(samples.meta))
    return known * 1e-9


def steps(samples: Samples, row: Mapping[str, Any]) -> dict[str, float]:
    """Return the resolution of each metric for which a tool reported values, in the metric's unit."""
    step, columns = step_s(samples), dict[str, float]()
    for name in {parts[0] for column in row if (parts := split(column))}:
        if METRICS[name].unit in _SCALES:
            columns[statistic_column(name, "step")] = step * _SCALES[METRICS[name].unit]
        elif headline := statistic_of(row, name):
            value = float(row[statistic_column(name, headline)])
            span = _span(samples, Reported(name, METRICS[name].unit, headline, value))
            columns[statistic_column(name, "step")] = value * step / span if span else math.nan
    return {name: value for name, value in columns.items() if value == value}


def _span(samples: Samples, value: Reported) -> float:
    """Return the time behind a value that a tool reported, s; NaN if it is not known."""
    if value.unit in _SCALES:
        return value.value / _SCALES[value.unit]
    timed = benchmarks.get(samples.spec.benchmark).timed
    work = timed(samples.spec, value.labels) if timed and value.unit == "MB/s" else 0.0
    return work / (value.value * 1e6) if work and value.value > 0 else math.nan


def coarse_value(samples: Samples, value: Reported) -> bool:
    """Return whether the time behind a value that a tool reported is shorter than ten steps of its clock."""
    return _span(samples, value) < (TICKS - _ROUNDING) * step_s(samples)


def coarse(row: Mapping[str, Any], metric: str, statistic: str = "") -> bool:
    """Return whether the time behind a statistic is shorter than ten steps of the clock.

    Parameters
    ----------
    row : of `records.summary` or `records.table`.
    metric, statistic : as in `labkit.columns`; without a name, the statistic that stands for the metric.

    Examples
    --------
    >>> coarse({"latency_us_p50": 9.0, "latency_us_step": 1.0}, "latency_us")
    True
    >>> coarse({"latency_us_p50": 10.0, "latency_us_step": 1.0}, "latency_us")
    False
    """
    step = row.get(statistic_column(metric, "step"), math.nan)
    if not step > 0 or row.get("origin") in NO_CLOCK:
        return False
    name = statistic or statistic_of(row, metric)
    value = float(row.get(statistic_column(metric, name), math.nan)) if name else math.nan
    if METRICS[metric].kind == "rate":  # the step is that at the headline
        at = float(row.get(statistic_column(metric, statistic_of(row, metric)), math.nan))
        value = at * at / value if value > 0 else math.nan
    return value < (TICKS - _ROUNDING) * step and not _of_loop(row, name)


Columns = Mapping[str, NDArray[Any]]  # some columns of records or of a summary, each (rows,)


def numbers(columns: Columns, metric: str, statistic: str) -> NDArray[np.float64]:
    """Return a statistic of each row, (rows,); NaN where it has none."""
    name = statistic_column(metric, statistic)
    if name in columns:
        return np.asarray(columns[name], np.float64)
    return np.full(len(next(iter(columns.values()))), math.nan)


def headlines_of(columns: Columns, metric: str) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Return the statistic that stands for a metric in each row, and its value, (rows,) each."""
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


def spans(rows: Sequence[Mapping[str, Any]], metric: str, statistic: str) -> float:
    """Return how many steps of the clock a statistic spans, the median over launches; NaN if that is not known."""
    counts = []
    for row in rows:
        value, step = (float(row.get(statistic_column(metric, one), math.nan)) for one in (statistic, "step"))
        if step > 0 and value == value and row.get("origin") not in NO_CLOCK:
            counts.append(value / step)
    return median(counts) if counts else math.nan


def _of_loop(row: Mapping[str, Any], statistic: str) -> bool:
    """Return whether a statistic comes from the time of a whole loop, which spans many steps."""
    if statistic != "osu_mean" or not row.get("n"):
        return False
    return benchmarks.get(str(row["benchmark"])).loop


def badges(samples: Samples, row: Mapping[str, Any]) -> tuple[Note, ...]:
    """Return the badge of a point if a metric of its benchmark is coarse. A tool's further values are only marked."""
    known = benchmarks.find().get(samples.spec.benchmark)
    own = {*known.metrics, *known.phases.values(), *known.derived} if known else {*METRICS}
    names = own & {parts[0] for column in row if (parts := split(column))}
    shown = any(coarse(row, name, s) for name in names for s in SHOWN if statistic_column(name, s) in row)
    if not shown and not any(value.name in own and coarse_value(samples, value) for value in samples.reported):
        return ()
    return (badge("clock resolution", step_ns=step_s(samples) * 1e9),)


def known(seconds: NDArray[np.float64], samples: Samples, work: float = 1.0) -> NDArray[np.float64]:
    """Return times of a point, s, with NaN in place of the coarse ones.

    Parameters
    ----------
    work : by which a time of the samples was divided.
    """
    least = (TICKS - _ROUNDING) * step_s(samples) / work
    return np.where(seconds < least, math.nan, seconds)


def sound(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows whose headline statistic is not a bound; only these may be a headline or a colour of a map."""
    if statistic_column(metric, "step") not in rows:
        return rows
    return rows[~coarse_of(columns(rows, metric), metric)]


def of_metric(column: str, metric: str) -> bool:
    """Return whether a column holds a statistic of a metric, or an end of its interval."""
    return (split_end(column) or split(column) or ("",))[0] == metric


def columns(rows: pd.DataFrame, metric: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a table that statistics of a metric are read from."""
    names = [name for name in rows if name in BESIDE or of_metric(name, metric)]
    return {"": np.arange(len(rows))} | {name: rows[name].to_numpy() for name in names}


def sign(unit: str) -> str:
    """Return the sign before a coarse value: ``≤`` for a time, ``≥`` for a rate."""
    return "≤ " if unit in _SCALES else "≥ "


def text(value: float, unit: str, share: float, *, none: str = "–") -> str:
    """Return the median over launches of a value that a tool reported, without its unit.

    Parameters
    ----------
    share : part of the launches whose value is coarse; from a half on, their median is a bound.
    none : what stands for NaN.
    """
    return (sign(unit) if share >= MOST else "") + format_number(value, none=none)
