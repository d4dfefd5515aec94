"""Find the same points in several campaigns: everything requested and the timing agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from labkit import benchmarks
from labkit.point.columns import METRICS, split, statistic_column
from labkit.point.units import format_size
from labkit.read.records import GIVEN, HEADLINES
from labkit.read.records.aggregate import existing
from labkit.read.records.factors import coded, distinct, level, named, texts, together

# what makes two points comparable: everything that was asked for, and how it was timed
_SAME = (
    "benchmark", "message_size_B", "ranks", "ppn", "transport", "launcher", "device", "hosts", "bind", "testbed",
    "origin", "cadence", "timing", "options",
)  # fmt: skip
_SETTING = ("ranks", "transport", "launcher", "device", "hosts", "testbed")  # named in a label if they differ
TAIL = "p99"
_UNNEEDED = (
    *("warnings", "further", "unreliable", "start", "session", "stopped_by", "allocation", "launch", "elapsed_s"),
    *("n_eff", "ci_width", "spread_within", "timer_overhead_ns", "verified"),
)

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of one campaign, or of several, by points.

    Parameters
    ----------
    frame : the rows.
    keys : what identifies each point.
    rows : (rows,), positions in the frame, grouped by point.
    starts : (points,), where the rows of each point begin in `rows`.
    """

    frame: pd.DataFrame
    keys: Sequence[Key]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]

    def __len__(self) -> int:
        """Number of points."""
        return len(self.keys)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Rows of each point, (points,)."""
        return np.diff([*self.starts, len(self.rows)]).astype(np.intp)

    @cached_property
    def number(self) -> NDArray[np.intp]:
        """Point of each of `rows`, (rows,)."""
        return np.repeat(np.arange(len(self)), self.counts)

    @cached_property
    def firsts(self) -> pd.DataFrame:
        """First row of each point."""
        return self.frame.iloc[self.rows[self.starts]]

    def chosen(self, places: Sequence[int]) -> Points:
        """Return some of the points, in this order."""
        parts = [self.rows[self.starts[place] : self.starts[place] + self.counts[place]] for place in places]
        starts = np.cumsum([0, *map(len, parts)])[:-1].astype(np.intp)
        rows = np.concatenate([np.empty(0, np.intp), *parts])
        return Points(self.frame, [self.keys[place] for place in places], rows, starts)

    def numbers(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the numbers in a column and the point of each, without missing ones."""
        if column not in self.frame:
            return np.empty(0), np.empty(0, np.intp)
        values = self.frame[column].to_numpy(np.float64)[self.rows]
        return values[~np.isnan(values)], self.number[~np.isnan(values)]

    def different(self, column: str) -> NDArray[np.intp]:
        """Return the number of different values of a column at each point, (points,)."""
        codes = distinct(self.frame[column])[0][self.rows]
        pairs = np.unique(self.number * (int(codes.max(initial=0)) + 1) + codes)
        return np.bincount(pairs // (int(codes.max(initial=0)) + 1), minlength=len(self)).astype(np.intp)


def identifying(new: pd.DataFrame, past: Past) -> list[str]:
    """Return the columns that identify a point, in each of the campaigns.

    An environment variable is among them if a campaign compares its levels.
    """
    given = {*_compared(new)} | past.given
    keys = [*_SAME, *sorted(given)]
    for more in ([], ["library", "engine"], ["host", "cpu_model"], ["fingerprint"]):
        keys += more
        if not len(new) or grouped(new, keys).different("fingerprint").max() == 1:
            break
    return keys


def variables(frame: pd.DataFrame) -> list[str]:
    """Return the columns of variables that ranks were given."""
    return [str(c) for c in frame if str(c).startswith(GIVEN[1])]


def _compared(frame: pd.DataFrame) -> list[str]:
    """Return the variables that alone distinguish points of a campaign."""
    names = variables(frame)
    if not names or not len(frame):
        return []
    same = _codes(frame, _SAME)
    count = int(same.max()) + 1
    return [name for name in names if int(together(same, _codes(frame, [name])).max()) + 1 > count]


def _codes(frame: pd.DataFrame, keys: Sequence[str]) -> NDArray[np.intp]:
    """Return a number for each row that is the same where all levels are, from 0 in the order they occur in."""
    codes = np.zeros(len(frame), np.intp)
    for name in keys:
        if name in frame:
            codes = together(codes, coded(frame[name])[0])
    return codes


class Past:
    """Rows of several campaigns, with the columns that points need; campaigns may have different columns.

    The table of each campaign is divided into columns at once, so it need not stay in memory.

    Parameters
    ----------
    tables : records of each campaign.
    """

    def __init__(self, tables: Iterable[pd.DataFrame]) -> None:
        self.given: set[str] = set()  # variables whose levels a campaign compares
        self._lengths: list[int] = []
        self._columns: dict[str, dict[int, pd.Series]] = {}
        for table in tables:
            if len(table):
                self.given |= {*_compared(table)}
                for name in filter(needed, map(str, table)):
                    self._columns.setdefault(name, {})[len(self)] = _small(table[name])
                self._lengths.append(len(table))
            del table  # before the next one is read

    def __len__(self) -> int:
        """Number of campaigns that have rows."""
        return len(self._lengths)

    def joined(self) -> pd.DataFrame:
        """Return the rows as one table, campaign after campaign; this object is empty afterwards."""
        columns = {}
        for name in [*self._columns]:
            own = self._columns.pop(name)
            columns[name] = _together([own.get(n, pd.Series(np.full(k, np.nan))) for n, k in enumerate(self._lengths)])
        return pd.DataFrame(columns, copy=False)


def _small(column: pd.Series) -> pd.Series:
    """Return a copy of a column in as few bytes as it needs."""
    if column.dtype.kind == "i":
        return pd.to_numeric(column, downcast="integer")
    return column.astype("category") if column.dtype == "str" else column.copy()


def _together(parts: Sequence[pd.Series]) -> pd.Series:
    """Return one column of several campaigns."""
    kinds = {str(part.dtype) for part in parts}
    if kinds == {"category"}:
        return pd.Series(union_categoricals(parts))
    if len(kinds) > 1 and not all(part.dtype.kind == "i" for part in parts):
        parts = [part.astype(object) for part in parts]
    return pd.concat(parts, ignore_index=True)


def needed(name: str) -> bool:
    """Return whether a column of the records identifies or describes points, or holds a statistic that is compared."""
    parts = split(name)
    if parts:
        return parts[1] in (*HEADLINES, TAIL, "step")
    return name not in _UNNEEDED


def grouped(frame: pd.DataFrame, keys: Sequence[str]) -> Points:
    """Return the rows grouped by points, in the order of occurrence."""
    codes = np.zeros(len(frame), np.intp)
    levels: dict[str, tuple[NDArray[Any], list[str]]] = {}
    for name in keys:
        places, values = coded(frame[name]) if name in frame else (np.zeros(len(frame), np.intp), [None])
        codes = together(codes, places)
        # in few bytes, because the codes of all columns are in memory
        levels[name] = places.astype(np.min_scalar_type(len(values))), [str(level(value)) for value in values]
    rows = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1)).astype(np.intp)
    firsts = rows[starts]
    columns = [[words[place] for place in places[firsts].tolist()] for places, words in levels.values()]
    return Points(frame, list(zip(*columns, strict=True)), rows, starts)


def without_partial_tails(points: Points) -> Points:
    """Return points without the tails that a summary leaves out, because only some launches of a campaign have them."""
    frame, rows = points.frame, points.rows
    group = together(points.number, distinct(frame["campaign"])[0][rows])
    codes, group = np.unique(group, return_inverse=True)
    columns = {}
    for metric in METRICS:
        names = [one for one in (*HEADLINES, TAIL) if statistic_column(metric, one) in frame]
        if TAIL not in names:
            continue
        values = [frame[statistic_column(metric, one)].to_numpy(np.float64) for one in names]
        present = ~np.isnan(np.stack(values, axis=1)[rows])
        exists = existing(names, present, group, len(codes))[1][:, -1]
        tails = values[-1].copy()
        tails[rows[~exists[group]]] = np.nan
        columns[statistic_column(metric, TAIL)] = tails
    return replace(points, frame=frame.assign(**columns))


def compared(new: Points, past: Points) -> list[list[tuple[str, str]]]:
    """Return metrics and statistics of the comparisons of each point: its first metric, and the tail of it.

    Parameters
    ----------
    new, past : the same points, of the new campaign and of the past ones.
    """

    def both(metric: str, statistic: str) -> NDArray[np.bool_]:
        column = statistic_column(metric, statistic)
        return np.logical_and(*(np.bincount(one.numbers(column)[1], minlength=len(one)) > 0 for one in (new, past)))

    found: list[list[tuple[str, str]]] = [[] for _ in new.keys]
    names = np.array([key[0] for key in new.keys], object)
    for name in dict.fromkeys(names.tolist()):
        missing = names == name
        for metric in benchmarks.get(name).metrics:
            tail = both(metric, TAIL)
            for statistic in HEADLINES:
                here = missing & both(metric, statistic)
                for place in np.flatnonzero(here).tolist():
                    found[place] += [(metric, statistic), *([(metric, TAIL)] if tail[place] else [])]
                missing &= ~here
    return found


def labelled(points: Points, keys: Sequence[str]) -> list[str]:
    """Return size and settings of each point; settings that all points of the benchmark share are left out."""
    labels = [""] * len(points)
    benchmark = np.array([key[0] for key in points.keys], object)
    options = [str(name) for name in points.frame if str(name).startswith(GIVEN[0])]
    names = [name for name in (*_SETTING, *keys[len(_SAME) :], *options) if name in points.frame]
    for one in dict.fromkeys(benchmark.tolist()):
        places = np.flatnonzero(benchmark == one)
        rows = points.firsts.iloc[places]
        varied = [name for name in names if len(coded(rows[name])[1]) > 1]
        words = [[f"{named(name)}={text}" for text in texts(rows, name)] for name in varied]
        sizes = [[format_size(size)] if size else [] for size in map(int, rows["message_size_B"].tolist())]
        for place, size, setting in zip(
            places.tolist(), sizes, zip(*words, strict=True) if words else [()] * len(rows), strict=True
        ):
            labels[place] = ", ".join(dict.fromkeys([*size, *setting]))
    return labels
