"""Points of a campaign with their launches, and series of points that differ in one factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.judge.finding import Value
from labkit.point.columns import METRICS, statistic_column
from labkit.read.records import GIVEN, HEADLINES, headline_statistic
from labkit.read.records.factors import SETTING, alike, coded, differing, worded
from labkit.read.records.resolution import coarse_of, columns

# a metric of one operation, for which sizes, ranks and links give expectations
TIMED = ("latency_us", "round_trip_us")
PER_BYTE = ("bandwidth_MBps", "algbw_GBps", "busbw_GBps")
PER_MESSAGE = ("message_rate_per_s", "transaction_rate_per_s", "iops_per_s")
HEADLINE_METRICS = (*TIMED, *PER_BYTE, *PER_MESSAGE)
_WHERE = ("host", "cpu_model", "campaign", "allocation")
_LEADS = ("p50", "mean", "value")  # statistics of which one says that a point has a metric
Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class Columns:
    """The columns of a table as arrays, each made when it is first asked for.

    Parameters
    ----------
    frame : the table; it stays unchanged.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self._arrays = frame, dict[str, NDArray[Any]]()

    def __contains__(self, name: str) -> bool:
        return name in self.frame

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column, (rows,)."""
        if name not in self._arrays:
            self._arrays[name] = self.frame[name].to_numpy()
        return self._arrays[name]


class Row(Mapping[str, Any]):
    """One row of a table as a mapping. Only requested columns become objects.

    Parameters
    ----------
    columns : columns of the table.
    place : place of the row, from 0.
    """

    def __init__(self, columns: Columns, place: int) -> None:
        self.columns, self.place = columns, place

    def __getitem__(self, name: str) -> Any:
        value = self.columns[name][self.place]
        return value.item() if isinstance(value, np.generic) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns.frame)

    def __len__(self) -> int:
        return len(self.columns.frame.columns)


@dataclass(frozen=True)
class Point:
    """A point with the values of its launches.

    Parameters
    ----------
    row : row of the summary.
    values : (launches,), the statistic of each launch, in the metric's unit.
    metric, statistic : metric and statistic of the values.
    where : how the point differs from those that it is compared with, in words.
    at : its position on the axis of the comparison, such as the size in B.
    """

    row: Mapping[str, Any]
    values: NDArray[np.float64]
    metric: str
    statistic: str
    where: str
    at: float

    @property
    def centre(self) -> float:
        """Median over launches."""
        return float(np.median(self.values))

    @property
    def value(self) -> Value:
        """Its value with the interval or range, for a finding."""
        one = stats.headline(self.values)
        return Value(
            value=self.centre,
            unit=METRICS[self.metric].unit,
            low=one.low,
            high=one.high,
            launches=len(self.values),
            origin=str(self.row.get("origin", "")),
            of=self.where,
            fingerprint=str(self.row.get("fingerprint", "")),
        )


@dataclass(frozen=True, eq=False)
class Values:
    """A metric of points over their launches, one entry per point.

    Parameters
    ----------
    statistic : index in `HEADLINES` of the first one that is above 0 in all launches; −1 without one.
    centre : median over launches.
    """

    statistic: Places
    centre: Floats


@dataclass(frozen=True, eq=False)
class Table:
    """The points of one benchmark.

    Parameters
    ----------
    benchmark : its name.
    rows : rows of the summary.
    records : columns of the records, of all launches of the campaign.
    by_count : number of launches → points with this number, (points,), and their rows of the records, (points,
        launches).
    """

    benchmark: str
    rows: pd.DataFrame
    records: Columns
    by_count: Sequence[tuple[Places, Places]]
    _values: dict[str, Values] = field(default_factory=dict)
    _headlines: dict[Sequence[str], tuple[Places, Sequence[str]]] = field(default_factory=dict)
    _groups: dict[str, Places] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def columns(self) -> Columns:
        """Columns of the rows."""
        return Columns(self.rows)

    def row(self, place: int) -> Row:
        """Return the row of a point."""
        return Row(self.columns, place)

    @cached_property
    def places(self) -> dict[str, int]:
        """Fingerprint → row."""
        return dict(zip(self.columns["fingerprint"].tolist(), range(len(self)), strict=True))

    @cached_property
    def factors(self) -> list[str]:
        """Columns other than the size in which the points differ."""
        return differing(self.rows, skip=("fingerprint", "campaign"))

    @cached_property
    def _words(self) -> tuple[Places, list[list[str]]]:
        """For each point the places of its levels, (points, factors), and the levels of each factor in words."""
        found = [worded(self.rows, name) for name in self.factors]
        return np.stack([codes for codes, _ in found], axis=1), [levels for _, levels in found]

    @cached_property
    def _of_size(self) -> dict[int, Places]:
        """Size → the points of this size."""
        sizes = self.columns["message_size_B"]
        return {int(sizes[places[0]]): places for places in alike(self.rows, ["message_size_B"])}

    def beside(self, place: int, free: Callable[[str], bool]) -> Iterator[tuple[Row, dict[str, str]]]:
        """Yield the points with the size of a point that differ from it only in some factors, with the levels of these.

        Parameters
        ----------
        free : whether a factor may differ.
        """
        if not (may := np.array([free(name) for name in self.factors], bool)).any():
            return
        codes, levels = self._words
        others = self._of_size[int(self.columns["message_size_B"][place])]
        differ = codes[others] != codes[place]
        chosen = differ.any(axis=1) & ~differ[:, ~may].any(axis=1)
        for other, changed in zip(others[chosen].tolist(), differ[chosen], strict=True):
            names = np.flatnonzero(changed).tolist()
            yield self.row(other), {self.factors[name]: levels[name][codes[other, name]] for name in names}

    def curve(self, place: int, metric: str) -> tuple[Floats, Floats]:
        """Return sizes, B, and values of the points that differ from a point in their size only, by size."""
        column, own = statistic_column(metric, headline_statistic(self.rows, metric)), self.sizes(place, metric)
        values = self.columns[column][own].astype(np.float64) if len(own) else np.empty(0)
        return self.columns["message_size_B"][own].astype(np.float64), values

    def sizes(self, place: int, metric: str) -> Places:
        """Return these points, sorted by size; none if the point does not have the metric."""
        column = statistic_column(metric, headline_statistic(self.rows, metric))
        if column not in self.columns or np.isnan(self.columns[column][place]):
            return np.empty(0, np.intp)
        if column not in self._groups:
            there = np.flatnonzero(~np.isnan(self.columns[column]))
            rows = self.rows.iloc[there]
            self._groups[column] = np.full(len(self), -1)
            for number, places in enumerate(alike(rows, differing(rows, skip=["fingerprint"]))):
                self._groups[column][there[places]] = number
        group = self._groups[column]
        own = np.flatnonzero(group == group[place])
        return own[np.argsort(self.columns["message_size_B"][own])]

    @cached_property
    def launches(self) -> Places:
        """Number of launches of each point, (points,)."""
        counts = np.zeros(len(self), np.intp)
        for places, rows in self.by_count:
            counts[places] = rows.shape[1]
        return counts

    @cached_property
    def _where(self) -> tuple[Places, Places]:
        """For each point its entry in `by_count`, and its place there."""
        entry, inside = np.full(len(self), -1), np.zeros(len(self), np.intp)
        for number, (places, _) in enumerate(self.by_count):
            entry[places], inside[places] = number, np.arange(len(places))
        return entry, inside

    def launches_of(self, points: Any) -> Places:
        """Return the rows of the records of points with the same number of launches, (points, launches)."""
        entry, inside = (each[points] for each in self._where)
        first = int(np.ravel(entry)[0])
        return self.by_count[first][1][inside] if first >= 0 else np.empty(0, np.intp)

    @cached_property
    def levels(self) -> dict[str, tuple[Places, list[Any]]]:
        """Column in which the points differ → index of the level of each point, and the levels."""
        given = [str(name) for name in self.rows if str(name).startswith(GIVEN)]
        names = [name for name in (*SETTING, *_WHERE, "message_size_B", *given) if name in self.rows]
        found = {name: coded(self.rows[name]) for name in names}
        return {name: (codes, levels) for name, (codes, levels) in found.items() if len(levels) > 1}

    def headlines(self, among: Sequence[str]) -> tuple[Places, Sequence[str]]:
        """Return for each point the index of its first metric that is one of these (−1 for none), and the metrics."""
        if among not in self._headlines:
            metrics = [metric for metric in benchmarks.get(self.benchmark).metrics if metric in among]
            chosen = np.full(len(self), -1)
            for place in reversed(range(len(metrics))):
                for name in _LEADS:
                    column = statistic_column(metrics[place], name)
                    if column in self.columns:
                        chosen[self.columns[column] > 0] = place
            self._headlines[among] = chosen, metrics
        return self._headlines[among]

    def values(self, metric: str) -> Values:
        """Return a metric of each point over its launches."""
        if metric not in self._values:
            statistic, centre = np.full(len(self), -1), np.full(len(self), np.nan)
            for number, name in enumerate(HEADLINES):
                column = statistic_column(metric, name)
                for places, rows in self.by_count if column in self.records else ():
                    still = statistic[places] < 0
                    values = self.records[column][rows[still]]
                    fine = (values > 0).all(axis=1)
                    chosen = places[still][fine]
                    statistic[chosen] = number
                    centre[chosen] = np.median(values[fine], axis=1)
            statistic[self._coarse(metric)] = -1
            self._values[metric] = Values(statistic, centre)
        return self._values[metric]

    def _coarse(self, metric: str) -> NDArray[np.bool_]:
        """Whether the clock does not resolve a metric of each point, (points,): such values show nothing."""
        if statistic_column(metric, "step") not in self.columns:
            return np.zeros(len(self), np.bool_)
        return np.asarray(coarse_of(columns(self.rows, metric), metric), np.bool_)

    def of_launches(self, points: Any, metric: str, statistic: str) -> Floats:
        """Return a statistic of each launch of points with the same number of launches; NaN if a launch lacks it."""
        column, rows = statistic_column(metric, statistic), self.launches_of(points)
        return self.records[column][rows] if column in self.records else np.full(rows.shape, np.nan)

    def point(self, place: int, metric: str, where: str = "", at: float = 0.0) -> Point | None:
        """Return a point with its launches; None if a launch has no positive value of the metric."""
        number = int(self.values(metric).statistic[place])
        if number < 0:
            return None
        name = HEADLINES[number]
        return Point(self.row(place), self.of_launches(place, metric, name), metric, name, where, at)


@dataclass(frozen=True, eq=False)
class Series:
    """Points of a benchmark that differ in one factor, sorted by its levels.

    Parameters
    ----------
    benchmark : its name.
    metric : metric of all points.
    at : (points,), levels of the factor.
    launches : (points,), number of launches.
    centre : (points,), median over launches.
    values : indices of points with the same number of launches → their values, (points, launches).
    point : index → the point with its launches.
    describe : returns what only these points of the benchmark share, in words.
    """

    benchmark: str
    metric: str
    at: Floats
    launches: Places
    centre: Floats
    values: Callable[[Places], Floats]
    point: Callable[[int], Point]
    describe: Callable[[], str] = str

    @classmethod
    def of(cls, points: Sequence[Point]) -> Series:
        """Return points with a common metric and statistic as a series."""
        return cls(
            benchmark="",
            metric=points[0].metric,
            at=np.array([one.at for one in points]),
            launches=np.array([len(one.values) for one in points]),
            centre=np.array([one.centre for one in points]),
            values=lambda places: np.stack([points[place].values for place in places.tolist()]),
            point=points.__getitem__,
        )

    def __len__(self) -> int:
        return len(self.at)


def headline(row: Mapping[str, Any]) -> str:
    """Return the first metric of a point for which rules have expectations; empty without one."""
    for metric in benchmarks.get(str(row["benchmark"])).metrics:
        if metric in HEADLINE_METRICS and any(row.get(statistic_column(metric, one), 0) > 0 for one in _LEADS):
            return metric
    return ""


def worse(metric: str) -> int:
    """Return 1 if larger values of a metric are worse, else −1."""
    return 1 if METRICS[metric].better == "lower" else -1


def holding(cells: Any, test: Callable[[Any], bool]) -> NDArray[np.bool_]:
    """Return which cells pass a test. It is made once for each different object, because many cells are equal."""
    listed = cells.tolist()  # a column, or an array
    passed = {key: test(cell) for key, cell in {id(cell): cell for cell in listed}.items()}
    return np.array([passed[id(cell)] for cell in listed], bool)


def in_files(records: Columns, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return some rows of records in the order of their files: by benchmark, fingerprint and launch."""
    keys = [pd.factorize(records[name][rows], sort=True)[0] for name in ("launch", "fingerprint", "benchmark")]
    return rows[np.lexsort(keys)]
