"""The values of the launches behind the rows of a summary: columns of the records, and the rows of each point.

A row of a summary holds medians over launches. Who decides whether two rows differ needs the launches themselves. One
`LaunchValues` serves all rows of a summary and stands in each of them (`COLUMN`): no object for each point, nothing
computed before someone asks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.point.columns import split, statistic_column

COLUMN = "of_launches"  # of a summary: the `LaunchValues` of its rows
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LaunchValues:
    """The records behind a summary.

    Parameters
    ----------
    records : a row per point and launch.
    key : columns that distinguish points.
    rows : (rows,), of the records, those of a point beside each other.
    starts : (points + 1,), where those of a point begin in `rows`, and the end.
    own : column → (records,), values that replace those of the records.
    """

    records: pd.DataFrame
    key: tuple[str, ...]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    own: Mapping[str, Floats] = field(default_factory=dict)
    _arrays: dict[str, NDArray[Any]] = field(default_factory=dict, init=False)  # columns as arrays: each is made once

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        """Key of a point → its place."""
        first = self.records[[*self.key]].iloc[self.rows[self.starts[:-1]]]
        return {key: place for place, key in enumerate(zip(*(first[name] for name in self.key), strict=True))}

    def _rows_of(self, row: Mapping[Any, Any]) -> NDArray[np.intp]:
        place = self._places[tuple(row[name] for name in self.key)]
        return self.rows[self.starts[place] : self.starts[place + 1]]

    def column(self, name: str) -> Floats:
        """Return a column, (records,); NaN if the records have none of its name."""
        if name in self.own:
            return self.own[name]
        return self._array(name, np.float64, math.nan)

    def _array(self, name: str, kind: type, missing: object) -> NDArray[Any]:
        """Return a column of the records, (records,), with one value in all rows if they have none of its name."""
        if name not in self._arrays:
            there = name in self.records
            self._arrays[name] = (
                self.records[name].to_numpy(kind) if there else np.full(len(self.records), missing, kind)
            )
        return self._arrays[name]

    def of(self, row: Mapping[Any, Any], metric: str, statistic: str) -> tuple[Floats, list[str], list[str]]:
        """Return a statistic of the launches of a row that have it, when these started, and their sessions."""
        rows = self._rows_of(row)
        values = self.column(statistic_column(metric, statistic))[rows]
        known = ~np.isnan(values)
        starts, placed = (self._array(name, object, "")[rows[known]].tolist() for name in ("start", "session"))
        return values[known], [str(one or "") for one in starts], [str(one or "") for one in placed]


def standing_for(
    rows: pd.DataFrame, changed: Mapping[str, tuple[str, float]], where: Sequence[bool] | None = None
) -> pd.DataFrame:
    """Return rows of a summary in which metrics stand in for others, with the launches behind them.

    Parameters
    ----------
    rows : rows of one summary. Their columns are those of the new metrics already.
    changed : metric → the one that it represents, and the factor.
    where : rows in which it does; all if left out.
    """
    if rows.empty or COLUMN not in rows:
        return rows
    view: LaunchValues = rows[COLUMN].iloc[0]
    own = dict(view.own)
    for name in map(str, view.records):
        for metric, (old, factor) in changed.items():
            if (parts := split(name)) and parts[0] == old:
                own[statistic_column(metric, parts[1])] = factor * view.column(name)
    other = replace(view, own=own)
    chosen = [True] * len(rows) if where is None else where
    return rows.assign(**{COLUMN: [other if one else view for one in chosen]})


def with_launches(rows: pd.DataFrame, metric: str, statistic: str, values: pd.Series) -> pd.DataFrame:
    """Return rows of a summary with other values of their launches.

    Parameters
    ----------
    values : by fingerprint and launch.
    """
    if rows.empty or COLUMN not in rows:
        return rows
    view: LaunchValues = rows[COLUMN].iloc[0]
    places = pd.MultiIndex.from_frame(view.records[["fingerprint", "launch"]])
    own = {**view.own, statistic_column(metric, statistic): values.reindex(places).to_numpy(np.float64)}
    return rows.assign(**{COLUMN: [replace(view, own=own)] * len(rows)})


def launches_of(row: Mapping[Any, Any], metric: str, statistic: str) -> tuple[Floats, Sequence[str], Sequence[str]]:
    """Return a statistic of each launch behind a row, with its start time and its session of a schedule.

    Parameters
    ----------
    row : row of a summary; of anything else, such as a record, the only launch is the row's own value.
    """
    view = row.get(COLUMN)
    if not isinstance(view, LaunchValues):
        value = row.get(statistic_column(metric, statistic), math.nan)
        return np.array([] if math.isnan(value) else [value], np.float64), (), ()
    return view.of(row, metric, statistic)
