"""Aggregates records to a summary: one row per point over its launches."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import notes, stats
from labkit.columns import (
    COLUMNS,
    ENDS,
    METRICS,
    SHOWN,
    STATISTICS,
    SUMMARY,
    end_column,
    split,
    split_end,
    statistic_column,
)
from labkit.notes import Note, note

HEADLINES = ("p50", "mean", "value", "osu_mean", "max")  # the statistic that stands for a metric, best first
GIVEN = ("option_", "env_")  # how columns begin that only some points have
KEY = ("fingerprint", "origin", "campaign")  # what makes rows repeats of one another


def order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that occur, in the order of `labkit.columns`."""
    seen = dict.fromkeys(name for row in rows for name in row)
    given = sorted((n for n in seen if n.startswith(GIVEN)), key=lambda name: (name.startswith(GIVEN[1]), name))
    return [*COLUMNS, *(name for name in _numeric() if name in seen), *given]


@cache
def _numeric() -> tuple[str, ...]:
    """Return the columns of every statistic of every metric and of the ends of its interval, in order."""
    return tuple(
        name
        for m in METRICS
        for s in STATISTICS
        for name in (statistic_column(m, s), *(end_column(m, s, end) for end in ENDS if s in SHOWN))
    )


def narrowed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows without the columns of metrics, options and variables that none of them has; most are of others.

    Columns of a metric stay together: if any statistic of it is there, all are.
    """
    filled = rows.notna().to_numpy().any(axis=0).tolist()
    groups = [_group(name) for name in rows.columns.tolist()]
    metrics = {group for group, some in zip(groups, filled, strict=True) if some} | {""}
    return rows.loc[:, [group in metrics for group in groups]]


@cache
def _group(name: str) -> str:
    """Return what a column stays with: its metric, itself if only some points have it, or nothing."""
    parts = split_end(name) or split(name)
    return parts[0] if parts else name if name.startswith(GIVEN) else ""


_parted: dict[int, tuple[weakref.ref[pd.DataFrame], dict[str, pd.DataFrame]]] = {}


def by_benchmark(frame: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of each benchmark, with the columns it has; worked out once for each table, which stays as it is.

    Parameters
    ----------
    frame : records or a summary.
    """
    key = id(frame)
    known = _parted.get(key)
    if known and known[0]() is frame:
        return known[1]
    parts = {str(name): narrowed(rows) for name, rows in frame.groupby("benchmark", sort=True)} if len(frame) else {}
    _parted[key] = weakref.ref(frame, lambda _: _parted.pop(key, None)), parts
    return parts


def headline_statistic(frame: pd.DataFrame, metric: str) -> str:
    """Statistic that stands for a metric: the first of `HEADLINES` that any row has."""
    return next((statistic for statistic in HEADLINES if has(frame, metric, statistic)), HEADLINES[0])


def has(frame: pd.DataFrame, metric: str, *statistics: str) -> bool:
    """Return whether any row has one of some statistics of a metric; by default, one that can stand for the metric."""
    names = (statistic_column(metric, statistic) for statistic in statistics or HEADLINES)
    return any(name in frame and frame[name].notna().any() for name in names)


def statistic_of(row: Mapping[str, Any], metric: str) -> str:
    """Statistic that stands for a metric in one row: the first of `HEADLINES` that it has; empty where it has none."""
    statistics = ((s, row.get(statistic_column(metric, s), math.nan)) for s in HEADLINES)
    return next((s for s, value in statistics if value == value), "")


def statistics_of(frame: pd.DataFrame, metric: str) -> NDArray[np.str_]:
    """`statistic_of` each row of a table, at once."""
    leads = np.full(len(frame), "", dtype=object)
    for name in reversed(HEADLINES):
        column = statistic_column(metric, name)
        if column in frame:
            leads[frame[column].notna().to_numpy()] = name
    return leads.astype(np.str_)


def _point(columns: Mapping[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return a summary row from the columns of a point's launches and its statistics over them."""
    row: dict[str, Any] = {name: values[0] for name, values in columns.items() if not split(name) and name != "launch"}
    row |= {name: notes.once(columns[name]) for name in ("badges", "warnings", "further") if name in columns}
    row |= {"unreliable": tuple(dict.fromkeys(name for names in columns["unreliable"] for name in names))}
    row |= {"stopped_by": tuple(dict.fromkeys(reason for reason in columns["stopped_by"] if reason))}
    row |= {"n": int(columns["n"].sum()), "verified": bool(columns["verified"].all()), "start": min(columns["start"])}
    row |= {name: float(np.median(columns[name])) for name in ("ci_width", "spread_within")}
    row["timer_overhead_ns"] = _of_known(columns["timer_overhead_ns"], np.median)
    row["elapsed_s"] = _of_known(columns["elapsed_s"], sum)
    return row | {"launches": len(columns["n"])} | over


def _of_known(values: NDArray[np.float64], function: Callable[[Any], Any]) -> float:
    """Apply a function to the values that are not NaN; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(function(known)) if known.size else math.nan


def _metric(
    metric: str, names: Sequence[str], block: NDArray[np.float64], headline_launches: int
) -> tuple[dict[str, float], list[Note], NDArray[np.float64]]:
    """Return the statistics of a metric over the launches that have the one standing for it.

    Parameters
    ----------
    names : statistics that any launch has.
    block : (launches, statistics), NaN where a launch has none.
    headline_launches : launches that the column `headline` is about; 0 before the first metric.

    Returns
    -------
    Columns of the row, notes on what it leaves out, and the values of the statistic that stands for the metric.
    """
    present = np.asarray(~np.isnan(block), bool)
    counts = dict(zip(names, present.sum(axis=0).tolist(), strict=True))
    # the statistic that most launches have; of several, the first in this order
    headline = max((s for s in (*HEADLINES, *STATISTICS) if s in counts), key=lambda s: counts[s])
    same = block[present[:, names.index(headline)]]
    complete = np.asarray(~np.isnan(same).any(axis=0), bool)
    centre, low, high = stats.aggregate(same)
    row: dict[str, float] = {}
    missing: list[Note] = []
    for place, name in enumerate(names):
        if not complete[place]:
            missing.append(_missing(statistic_column(metric, name), counts[name], len(block)))
            continue
        row[statistic_column(metric, name)] = float(centre[place])
        if name in SHOWN:
            ends = (math.nan, math.nan)
            if headline_launches in (0, len(same)):
                ends = (float(low[place]), float(high[place]))
            row |= {end_column(metric, name, end): value for end, value in zip(ENDS, ends, strict=True)}
    if (step := statistic_column(metric, "step")) in row:
        row[step] = float(same[:, names.index("step")].min())
    if headline_launches and headline_launches != len(same):
        text = f"interval of {metric}: {len(same)} of {len(block)} launches have the metric"
        missing.append(note("missing-interval", text, metric=metric, have=len(same), launches=len(block)))
    if headline in HEADLINES and end_column(metric, headline, "low") in row:
        row |= {statistic_column(metric, end): row[end_column(metric, headline, end)] for end in ENDS}
    return row, missing, same[:, names.index(headline)]


def _missing(column: str, have: int, launches: int) -> Note:
    """Note that only some of the launches have a statistic."""
    text = f"{column}: {have} of {launches} launches have it"
    return note("missing-statistic", text, column=column, have=have, launches=launches)


def _numbers(metrics: Mapping[str, Sequence[tuple[str, int]]], block: NDArray[np.float64]) -> dict[str, Any]:
    """Aggregate the numbers of one point, (launches, numeric columns), to columns of the summary."""
    measured = np.asarray(~np.isnan(block).all(axis=0), bool)
    row: dict[str, Any] = {"headline": "", "spread_between": math.nan}
    left_out: list[Note] = []
    headline_launches = 0
    for metric, places in metrics.items():
        statistics = [(name, place) for name, place in places if measured[place]]
        if not statistics:
            continue
        names, columns_of = [name for name, _ in statistics], [place for _, place in statistics]
        columns, missing, values = _metric(metric, names, block[:, columns_of], headline_launches)
        row |= columns
        left_out += missing
        if not headline_launches and any(name in HEADLINES for name in names):
            headline_launches = len(values)
            row |= {
                "headline": stats.launches_label(headline_launches),
                "spread_between": stats.relative_spread(values),
            }
    return row | {"left_out": tuple(left_out)}


def summary(records: pd.DataFrame, *, key: Sequence[str] = KEY) -> pd.DataFrame:
    """Summarize records: one row per point, with the median over launches of every statistic and its interval.

    All statistics of a metric come from the same launches, so that their order (median, p95, p99, maximum) holds. A
    statistic that only some of them have is left out. The column `left_out` names it.

    Parameters
    ----------
    records : from `table`.
    key : columns that make rows repeats of one another.

    Returns
    -------
    Columns of the records without launch, with n in total, and those of `labkit.columns.SUMMARY`;
    ``<metric>_<statistic>_low`` and ``_high`` enclose each statistic over launches, ``<metric>_low`` and ``_high`` the
    one that stands for the metric. Unions of badges and warnings; `verified` only if every launch was.
    """
    groups = records.groupby(list(key), sort=False)
    numeric = [name for name in records.columns if split(name)]
    metrics: dict[str, list[tuple[str, int]]] = {}
    for place, name in enumerate(numeric):
        if parts := split(name):
            metrics.setdefault(parts[0], []).append((parts[1], place))
    values = records[numeric].to_numpy(np.float64)
    columns = {name: records[name].to_numpy() for name in records.columns}
    rows = [
        _point({name: column[rows_of] for name, column in columns.items()}, _numbers(metrics, values[rows_of]))
        for rows_of in (groups.indices[name] for name in groups.groups)
    ]
    names = [name for name in order([dict.fromkeys(numeric), *rows]) if name != "launch"]
    place = names.index("n")
    frame = pd.DataFrame(rows, columns=[*names[:place], *SUMMARY, *names[place:]])
    return frame.sort_values(["benchmark", "message_size_B", "fingerprint"], ignore_index=True, kind="stable")
