"""Aggregates records to a summary: one row per point over its launches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.point import notes
from labkit.point.columns import (
    COLUMNS,
    ENDS,
    METRICS,
    OVER,
    SHOWN,
    STATISTICS,
    SUMMARY,
    end_column,
    split,
    split_end,
    statistic_column,
)
from labkit.point.notes import Note, note
from labkit.point.units import format_duration
from labkit.read.records.launch_values import COLUMN, LaunchValues
from labkit.stats import sessions as grouping

HEADLINES = ("p50", "mean", "value", "osu_mean", "max")  # the statistic that stands for a metric, best first
GIVEN = ("option_", "env_")  # how columns begin that only some points have
KEY = ("fingerprint", "origin", "campaign")  # what makes rows repeats of one another
_CHANCE = "chance"  # of launches that resemble their neighbours so much, while a summary is made
_OF_LAUNCH = ("launch", "session")  # columns that a summary does not have
AT_ONCE = note(
    "launches-at-once",
    f"launches that all start within {format_duration(stats.MOMENT)} show one moment of the machine, and so does their "
    "interval; spread them with --sessions 6",
)
RESEMBLING = note(
    "dependent-launches",
    "launches resemble those before and after them (Bartels' test, 1 %), so the interval over launches is too narrow; "
    "spread them with --sessions 6",
)


def order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that occur, in the order of `labkit.point.columns`."""
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


def by_identity(cells: Sequence[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Return for each cell the place of its object among the different ones, and these; objects are not compared."""
    names = np.fromiter(map(id, cells), np.uint64, len(cells))
    codes = pd.factorize(names)[0]
    return codes, [cells[place] for place in np.unique(codes, return_index=True)[1].tolist()]


def narrowed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows without the columns of metrics, options and variables that are empty in all of them.

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


def by_benchmark(frame: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of each benchmark, with the columns it has.

    Parameters
    ----------
    frame : records or a summary.
    """
    return {str(name): narrowed(rows) for name, rows in frame.groupby("benchmark", sort=True)} if len(frame) else {}


def headline_metric(frame: pd.DataFrame) -> str:
    """Return the first metric of its benchmark that any row has; empty if none has one.

    Parameters
    ----------
    frame : records or a summary, of one benchmark.
    """
    known = benchmarks.look_up(str(frame["benchmark"].iloc[0])) if len(frame) else None
    columns: dict[str, list[str]] = {}
    for name in map(str, frame):
        if parts := split(name):
            columns.setdefault(parts[0], []).append(name)
    metrics = (metric for metric in dict.fromkeys([*(known.metrics if known else ()), *columns]) if metric in columns)
    return next((metric for metric in metrics if any(frame[name].notna().any() for name in columns[metric])), "")


def quantities(frame: pd.DataFrame) -> list[str]:
    """Return the columns of options that choose what its benchmark measures.

    Parameters
    ----------
    frame : as in `headline_metric`.
    """
    known = benchmarks.look_up(str(frame["benchmark"].iloc[0])) if len(frame) else None
    columns = [f"{GIVEN[0]}{name}" for name in known.quantities] if known else []
    return [name for name in columns if name in frame]


def headline_statistic(frame: pd.DataFrame, metric: str) -> str:
    """Statistic that represents a metric: the first of `HEADLINES` that any row has."""
    return next((statistic for statistic in HEADLINES if has(frame, metric, statistic)), HEADLINES[0])


def has(frame: pd.DataFrame, metric: str, *statistics: str) -> bool:
    """Return whether any row has one of some statistics of a metric; by default, one that can represent the metric."""
    names = (statistic_column(metric, statistic) for statistic in statistics or HEADLINES)
    return any(name in frame and frame[name].notna().any() for name in names)


def statistic_of(row: Mapping[str, Any], metric: str) -> str:
    """Statistic that represents a metric in one row: the first of `HEADLINES` that it has; empty without one."""
    statistics = ((s, row.get(statistic_column(metric, s), math.nan)) for s in HEADLINES)
    return next((s for s, value in statistics if not math.isnan(value)), "")


def statistics_of(frame: pd.DataFrame, metric: str) -> NDArray[np.str_]:
    """`statistic_of` each row of a table, at once."""
    leads = np.full(len(frame), "", dtype=object)
    for name in reversed(HEADLINES):
        column = statistic_column(metric, name)
        if column in frame:
            leads[frame[column].notna().to_numpy()] = name
    return leads.astype(np.str_)


Floats = NDArray[np.float64]
_NOTED = ("badges", "warnings", "further")  # lists of notes: a point has each note of its launches once


@dataclass(frozen=True)
class _Groups:
    """Which rows belong to one point.

    Parameters
    ----------
    rows : (rows,), of the records, those of a point beside each other in the order of the records.
    starts : (points,), where those of a point begin in `rows`.
    counts : (points,), how many.
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, records: pd.DataFrame, key: Sequence[str]) -> _Groups:
        """Group records by some columns; points are in the order of their first rows."""
        codes = records.groupby(list(key), sort=False).ngroup().to_numpy()
        counts = np.bincount(codes[codes >= 0]).astype(np.intp)
        rows = np.argsort(codes, kind="stable")[np.count_nonzero(codes < 0) :]
        return cls(rows, np.concatenate([[0], np.cumsum(counts)])[:-1].astype(np.intp), counts)

    @property
    def first(self) -> NDArray[np.intp]:
        """First row of each point, (points,)."""
        return self.rows[self.starts]

    def by_count(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the points with equally many launches, (points,), and their rows, (points, launches)."""
        for count in np.unique(self.counts).tolist():
            points = np.flatnonzero(self.counts == count)
            yield points, self.rows[self.starts[points][:, None] + np.arange(count)]

    def reduced(self, values: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """Apply a function (points, launches) → (points,) to a column."""
        out = np.full(len(self.counts), math.nan)
        for points, rows in self.by_count():
            out[points] = function(values[rows])
        return out

    def joined(self, cells: pd.Series, join: Callable[[list[Any]], Any]) -> list[Any]:
        """Join the cells of each point; points with the same objects as cells are joined only once."""
        codes, values = by_identity(cells.tolist())
        codes = codes[self.rows]
        low, high = (f.reduceat(codes, self.starts) for f in (np.minimum, np.maximum))
        known: dict[tuple[int, ...], Any] = {}
        out = []
        for start, count, one in zip(self.starts.tolist(), self.counts.tolist(), (low == high).tolist(), strict=True):
            distinct = (int(codes[start]),) if one else tuple(dict.fromkeys(codes[start : start + count].tolist()))
            if distinct not in known:
                known[distinct] = join([values[place] for place in distinct])
            out.append(known[distinct])
        return out


def _median_of_known(values: Floats) -> Floats:
    """Median over launches, without NaN, (points, launches) → (points,)."""
    medians = np.median(values, axis=1)
    for point in np.flatnonzero(np.isnan(medians)):
        known = values[point][~np.isnan(values[point])]
        medians[point] = np.median(known) if known.size else math.nan
    return medians


def _sum_of_known(values: Floats) -> Floats:
    """Sum over launches, without NaN; NaN if no launch has a value."""
    total = np.zeros(len(values))
    for column in values.T:
        total = np.where(np.isnan(column), total, total + column)
    return np.where(np.isnan(values).all(axis=1), math.nan, total)


def _points(records: pd.DataFrame, groups: _Groups) -> pd.DataFrame:
    """Return what describes each point beside its statistics, a row per point."""
    plain = [name for name in records.columns if not split(name) and name not in _OF_LAUNCH]
    points = records[plain].iloc[groups.first].reset_index(drop=True)

    def column(name: str) -> Floats:
        return np.asarray(records[name].to_numpy(np.float64))

    def cells(values: list[Any]) -> pd.Series:
        return pd.Series(values, dtype="object")

    starts = records["start"].to_numpy(object)[groups.rows]
    ends = (groups.starts + groups.counts).tolist()
    columns: dict[str, Any] = {
        name: cells(groups.joined(records[name], notes.once)) for name in _NOTED if name in records
    }
    columns |= {
        "unreliable": cells(
            groups.joined(records["unreliable"], lambda some: tuple(dict.fromkeys(n for names in some for n in names)))
        ),
        "stopped_by": cells(
            groups.joined(_shared(records["stopped_by"]), lambda some: tuple(dict.fromkeys(filter(None, some))))
        ),
        "n": np.add.reduceat(records["n"].to_numpy()[groups.rows], groups.starts),
        "verified": np.logical_and.reduceat(records["verified"].to_numpy(bool)[groups.rows], groups.starts),
        "start": [min(starts[start:end]) for start, end in zip(groups.starts.tolist(), ends, strict=True)],
        "n_eff": groups.reduced(column("n_eff"), _sum_of_known),
        "ci_width": groups.reduced(column("ci_width"), lambda values: np.median(values, axis=1)),
        "spread_within": groups.reduced(column("spread_within"), lambda values: np.median(values, axis=1)),
        "timer_overhead_ns": groups.reduced(column("timer_overhead_ns"), _median_of_known),
        "elapsed_s": groups.reduced(column("elapsed_s"), _sum_of_known),
        "launches": groups.counts.astype(np.int64),
    }
    return points.assign(**columns)


def _shared(texts: pd.Series) -> pd.Series:
    """Return texts with one object for all equal ones."""
    known: dict[Any, Any] = {}
    return pd.Series([known.setdefault(text, text) for text in texts.tolist()], dtype="object")


def _metric(
    metric: str,
    names: Sequence[str],
    present: NDArray[np.bool_],
    block: Floats,
    headline_launches: int,
    sessions: NDArray[np.intp],
) -> tuple[dict[str, Floats], list[Note], Floats, NDArray[np.intp]]:
    """Return the statistics of a metric over the launches that have the one standing for it.

    Parameters
    ----------
    names : statistics that any launch has.
    present : (launches, statistics), which launch has which, in every point.
    block : (points, launches, statistics), NaN if a launch has none.
    headline_launches : launches that the column `headline` is about; 0 before the first metric.
    sessions : (launches,), session of each launch.

    Returns
    -------
    Columns of the rows, (points,); notes on what they leave out; the values of the statistic that represents the
    metric, (points, launches); and the sessions of these launches.
    """
    counts = dict(zip(names, present.sum(axis=0).tolist(), strict=True))
    headlines, complete_of = existing(names, present, np.zeros(len(present), np.intp), 1)
    headline, complete = names[int(headlines[0])], complete_of[0]
    having = present[:, names.index(headline)]
    same = block[:, having]
    centre, low, high = stats.aggregate(same, sessions[having])
    row: dict[str, Floats] = {}
    missing: list[Note] = []
    for place, name in enumerate(names):
        if not complete[place]:
            missing.append(_missing(statistic_column(metric, name), counts[name], len(present)))
            continue
        row[statistic_column(metric, name)] = centre[:, place]
        if name in SHOWN:
            ends = (low, high) if headline_launches in (0, same.shape[1]) else (np.full_like(centre, math.nan),) * 2
            row |= {end_column(metric, name, end): values[:, place] for end, values in zip(ENDS, ends, strict=True)}
    if (step := statistic_column(metric, "step")) in row:
        row[step] = same[:, :, names.index("step")].min(axis=1)
    if headline_launches and headline_launches != same.shape[1]:
        text = f"interval of {metric}: {same.shape[1]} of {len(present)} launches have the metric"
        missing.append(note("missing-interval", text, metric=metric, have=same.shape[1], launches=len(present)))
    if headline in HEADLINES and end_column(metric, headline, "low") in row:
        row |= {statistic_column(metric, end): row[end_column(metric, headline, end)] for end in ENDS}
        row |= _both(metric, same[:, :, [names.index(headline)]], sessions[having])
    return row, missing, same[:, :, names.index(headline)], sessions[having]


def _both(metric: str, values: Floats, sessions: NDArray[np.intp]) -> dict[str, Floats]:
    """Return the ends of the interval over launches, and of the range of sessions, if there are too few sessions.

    Parameters
    ----------
    values : (points, launches, 1).
    """
    if values.shape[1] < stats.LAUNCHES or not 1 < len(np.unique(sessions)) < stats.LAUNCHES:
        return {}
    each = stats.of_sessions(values, sessions)[:, :, 0]
    ends = dict(zip(OVER, (stats.aggregate(values)[1:], (each.min(axis=1), each.max(axis=1))), strict=True))
    return {
        statistic_column(metric, f"{over}_{end}"): np.ravel(found)
        for over, pair in ends.items()
        for end, found in zip(ENDS, pair, strict=True)
    }


def existing(
    names: Sequence[str], present: NDArray[np.bool_], group: NDArray[np.intp], groups: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the existing statistics of a metric: those of every launch that has its headline statistic.

    Parameters
    ----------
    names : statistics.
    present : (launches, statistics), which launch has which.
    group : (launches,), number of the launch's point.
    groups : number of points.

    Returns
    -------
    The place of the statistic that stands for the metric, (points,): the one that most launches have, of several the
    first of `HEADLINES` and `STATISTICS`; and which statistics exist, (points, statistics).
    """
    order = [names.index(one) for one in dict.fromkeys((*HEADLINES, *STATISTICS)) if one in names]
    counts = np.stack([np.bincount(group, each, groups) for each in present.T], axis=1)
    headline = np.array(order, np.intp)[counts[:, order].argmax(axis=1)]
    lacking = ~present & present[np.arange(len(present)), headline[group]][:, None]
    return headline, np.stack([np.bincount(group, each, groups) == 0 for each in lacking.T], axis=1)


def _missing(column: str, have: int, launches: int) -> Note:
    """Note that only some of the launches have a statistic."""
    text = f"{column}: {have} of {launches} launches have it"
    return note("missing-statistic", text, column=column, have=have, launches=launches)


def _numbers(
    metrics: Mapping[str, Sequence[tuple[str, int]]], block: Floats, sessions: NDArray[np.intp]
) -> dict[str, Any]:
    """Aggregate the numbers of points with launches of the same columns and sessions.

    Parameters
    ----------
    block : (points, launches, numeric columns), launches in the order of time.
    sessions : (launches,), session of each launch; -1 if the order of time is unknown.

    Returns
    -------
    Columns of the summary: (points,), or one value for all.
    """
    present = ~np.isnan(block[0])
    measured = present.any(axis=0)
    row: dict[str, Any] = {"headline": "", "spread_between": math.nan}
    left_out: list[Note] = []
    headline_launches = 0
    for metric, places in metrics.items():
        statistics = [(name, place) for name, place in places if measured[place]]
        if not statistics:
            continue
        names, columns_of = [name for name, _ in statistics], [place for _, place in statistics]
        columns, missing, values, own = _metric(
            metric, names, present[:, columns_of], block[:, :, columns_of], headline_launches, sessions
        )
        row |= columns
        left_out += missing
        if not headline_launches and any(name in HEADLINES for name in names):
            headline_launches = values.shape[1]
            count = len(np.unique(own))
            row |= {
                "headline": stats.launches_label(headline_launches, count),
                "spread_between": stats.relative_spreads(values),
            }
            if own[0] >= 0 and headline_launches >= stats.LAUNCHES > count:
                row[_CHANCE] = grouping.resembling(values)
    return row | {"left_out": tuple(left_out)}


def _alike(block: Floats, sessions: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield groups of points, from (points, launches, columns), with launches of the same columns and sessions."""
    present = np.packbits(~np.isnan(block.reshape(len(block), -1)), axis=1)
    if sessions.any():
        present = np.concatenate([present, sessions.view(np.uint8).reshape(len(block), -1)], axis=1)
    _, places = np.unique(present, axis=0, return_inverse=True)
    for place in range(int(places.max()) + 1):
        yield np.flatnonzero(places == place)


def _in_time(records: pd.DataFrame, groups: _Groups) -> tuple[_Groups, NDArray[np.intp], dict[str, NDArray[Any]]]:
    """Return the rows of each point in the order of their starts, the session of each row, and columns about both.

    Returns
    -------
    Groups, sessions of the rows of the records (as in `grouping.numbered`), and columns of the summary, (points,) each.
    """
    starts = pd.to_datetime(records["start"], format="ISO8601", utc=True, errors="coerce").to_numpy("datetime64[ns]")
    seconds = np.where(np.isnat(starts), math.nan, starts.astype(np.int64) * 1e-9)
    placed, texts = (
        pd.factorize(records["session"]) if "session" in records else (np.zeros(len(records), np.intp), [""])
    )
    placed = np.where(np.isin(placed, np.flatnonzero(np.asarray(texts) == "")), -1, placed).astype(np.intp)
    point = np.repeat(np.arange(len(groups.counts)), groups.counts)
    timely = replace(groups, rows=groups.rows[np.lexsort((seconds[groups.rows], point))])
    sessions = np.full(len(records), -1, np.intp)
    for _, rows in timely.by_count():
        sessions[rows] = grouping.numbered(seconds[rows], placed[rows])
    low, high = (f.reduceat(seconds[timely.rows], timely.starts) for f in (np.minimum, np.maximum))
    span = np.where(groups.counts > 1, high - low, math.nan)
    number = np.maximum.reduceat(sessions[timely.rows], timely.starts) + 1
    known: dict[tuple[int, int, float], str] = {}
    basis = []
    for launches, count, length in zip(groups.counts.tolist(), number.tolist(), span.tolist(), strict=True):
        key = launches, count, length if math.isnan(length) else grouping.rounded(length)
        basis.append(known[key] if key in known else known.setdefault(key, grouping.basis(*key)))
    return timely, sessions, {"sessions": number, "span_s": span, "basis": np.array(basis, object)}


def bases(summary: pd.DataFrame, most: int = 4) -> str:
    """Describe what the rows of a summary are based on; rows that differ only in their span are described once.

    Parameters
    ----------
    most : numbers of launches and sessions that are named.
    """
    if "basis" not in summary or summary.empty:
        return ""
    groups = summary.groupby(["launches", "sessions"])["span_s"].agg(["max", "min"])
    pairs = zip(groups.index, groups.to_numpy().tolist(), strict=True)
    texts = [grouping.basis(*map(int, key), *ends) for key, ends in pairs]
    return ", ".join([*texts[:most], "and others"] if len(texts) > most else texts)


def _doubted(points: pd.DataFrame, span: Floats, chance: Floats) -> pd.Series:
    """Return the warnings of points, with notes where an interval of their launches must not be trusted.

    Parameters
    ----------
    span : (points,), between the first and the last start, s; NaN if unknown.
    chance : (points,), of launches that resemble their neighbours so much; NaN if unknown.
    """
    enough = points["launches"].to_numpy() >= stats.LAUNCHES
    doubts = {AT_ONCE: enough & (span < stats.MOMENT), RESEMBLING: chance <= grouping.CHANCE}
    known: dict[tuple[int, ...], tuple[Note, ...]] = {}
    cells = []
    for cell, *holds in zip(points["warnings"].tolist(), *(one.tolist() for one in doubts.values()), strict=True):
        if (key := (id(cell), *holds)) not in known:
            known[key] = (*cell, *itertools.compress(doubts, holds))
        cells.append(known[key])
    return pd.Series(cells, index=points.index, dtype="object")


def _statistics(
    records: pd.DataFrame, groups: _Groups, numeric: Sequence[str], sessions: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    """Return the statistics of every point over its launches, (points,) each.

    Parameters
    ----------
    groups : rows of each point in the order of time.
    sessions : (rows,), session of each launch.
    """
    out: dict[str, NDArray[Any]] = {}
    benchmark = records["benchmark"].to_numpy(object)[groups.first]
    values = {name: records[name].to_numpy(np.float64) for name in numeric}
    for points, rows in groups.by_count():
        for name in dict.fromkeys(benchmark[points].tolist()):
            some = np.flatnonzero(benchmark[points] == name)
            here = [c for c in numeric if not np.isnan(values[c][rows[some]]).all()]
            metrics: dict[str, list[tuple[str, int]]] = {}
            for place, parts in enumerate(map(split, here)):
                assert parts
                metrics.setdefault(parts[0], []).append((parts[1], place))
            block = (
                np.stack([values[c][rows[some]] for c in here], axis=2) if here else np.empty((*rows[some].shape, 0))
            )
            of_block = sessions[rows[some]]
            for each in _alike(block, of_block):
                for column, found in _numbers(metrics, block[each], of_block[each[0]]).items():
                    if column not in out:
                        empty: Any = math.nan if column not in ("headline", "left_out") else None
                        out[column] = np.full(len(groups.counts), empty, object if empty is None else np.float64)
                    if isinstance(found, tuple):
                        for point in points[some[each]].tolist():
                            out[column][point] = found
                    else:
                        out[column][points[some[each]]] = found
    return out


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
    Columns of the records without launch and session, with n in total, and those of `labkit.point.columns.SUMMARY`;
    ``<metric>_<statistic>_low`` and ``_high`` enclose each statistic over launches, ``<metric>_low`` and ``_high`` the
    one that represents the metric. Unions of badges and warnings; `verified` only if every launch was. The last column
    holds the values of the launches: see `labkit.read.records.launch_values`.
    """
    groups = _Groups.of(records, key)
    numeric = [name for name in records.columns if split(name)]
    timely, sessions, times = _in_time(records, groups) if len(records) else (groups, np.empty(0, np.intp), {})
    points, statistics = _points(records, groups), _statistics(records, timely, numeric, sessions)
    if times and "warnings" in points:
        unknown = np.full(len(points), math.nan)
        points["warnings"] = _doubted(points, times["span_s"], statistics.pop(_CHANCE, unknown))
    columns = {name: points[name] for name in points.columns} | times | statistics
    names = [name for name in order([dict.fromkeys(numeric), columns]) if name not in _OF_LAUNCH]
    place = names.index("n")
    nothing = np.full(len(points), math.nan)
    whole = [*names[:place], *SUMMARY, *names[place:]]
    frame = pd.DataFrame({name: columns.get(name, nothing) for name in whole}, index=points.index).infer_objects()
    ends = np.append(groups.starts, len(groups.rows))
    view = pd.Series([LaunchValues(records, tuple(key), groups.rows, ends)] * len(frame), index=frame.index)
    frame = frame.assign(**{COLUMN: view})
    return frame.sort_values(["benchmark", "message_size_B", "fingerprint"], ignore_index=True, kind="stable").copy()
