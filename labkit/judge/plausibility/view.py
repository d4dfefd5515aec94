"""What plausibility rules see of a campaign: its points with their launches, in series that differ in one factor."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.judge.plausibility.deciding import Point
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import joined
from labkit.point.units import format_size
from labkit.read.records import GIVEN, HEADLINES, by_benchmark, rerun
from labkit.read.records.factors import NONE, SETTING, coded, level, named, text
from labkit.stats.modes import Modes
from labkit.store.samples.facts import INVOLUNTARY_SWITCHES

if TYPE_CHECKING:
    from labkit.read.columnar import Launches

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
    frame : the table, which stays as it is.
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
    """One row of a table as a mapping, of which only the columns that are asked for become objects.

    Parameters
    ----------
    columns : of the table.
    place : of the row, from 0.
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


@dataclass(frozen=True, eq=False)
class Values:
    """A metric of points over their launches, an entry per point.

    Parameters
    ----------
    statistic : place in `HEADLINES` of the first one that is above 0 in all launches; −1 where there is none.
    centre, low, high : median over launches, and the ends of its interval or range; the value for one launch.
    """

    statistic: Places
    centre: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Table:
    """The points of one benchmark.

    Parameters
    ----------
    benchmark : its name.
    rows : of the summary.
    records : columns of the records, of all launches of the campaign.
    by_count : for each number of launches, the points that have so many, (points,), and the rows of the records of
        each, (points, launches).
    """

    benchmark: str
    rows: pd.DataFrame
    records: Columns
    by_count: Sequence[tuple[Places, Places]]
    _values: dict[str, Values] = field(default_factory=dict)
    _headlines: dict[Sequence[str], tuple[Places, Sequence[str]]] = field(default_factory=dict)

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
        """Return the rows of the records of a point, or of points with equally many launches, (points, launches)."""
        entry, inside = (each[points] for each in self._where)
        first = int(np.ravel(entry)[0])
        return self.by_count[first][1][inside] if first >= 0 else np.empty(0, np.intp)

    @cached_property
    def levels(self) -> dict[str, tuple[Places, list[Any]]]:
        """Column in which the points differ → for each point the place of its level, and the levels."""
        given = [str(name) for name in self.rows if str(name).startswith(GIVEN)]
        names = [name for name in (*SETTING, *_WHERE, "message_size_B", *given) if name in self.rows]
        found = {name: coded(self.rows[name]) for name in names}
        return {name: (codes, levels) for name, (codes, levels) in found.items() if len(levels) > 1}

    def headlines(self, among: Sequence[str]) -> tuple[Places, Sequence[str]]:
        """Return for each point the place of its first metric that is one of these, −1 for none, and the metrics."""
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
            statistic = np.full(len(self), -1)
            centre, low, high = (np.full(len(self), np.nan) for _ in range(3))
            for number, name in enumerate(HEADLINES):
                column = statistic_column(metric, name)
                for places, rows in self.by_count if column in self.records else ():
                    still = statistic[places] < 0
                    values = self.records[column][rows[still]]
                    fine = (values > 0).all(axis=1)
                    chosen = places[still][fine]
                    statistic[chosen] = number
                    centre[chosen], low[chosen], high[chosen] = stats.aggregate(values[fine].T)
            alone = self.launches == 1
            low[alone] = high[alone] = centre[alone]
            self._values[metric] = Values(statistic, centre, low, high)
        return self._values[metric]

    def of_launches(self, points: Any, metric: str, statistic: str) -> Floats:
        """Return a statistic of each launch of a point, or of points with equally many; NaN where a launch has none."""
        column, rows = statistic_column(metric, statistic), self.launches_of(points)
        return self.records[column][rows] if column in self.records else np.full(rows.shape, np.nan)

    def point(self, place: int, metric: str, where: str = "", at: float = 0.0) -> Point | None:
        """Return a point with its launches; None where a launch has no positive value of the metric."""
        number = int(self.values(metric).statistic[place])
        if number < 0:
            return None
        name = HEADLINES[number]
        return Point(self.row(place), self.of_launches(place, metric, name), metric, name, where, at)


@dataclass(frozen=True, eq=False)
class Series:
    """Points of a benchmark that differ in one factor, in its order.

    Parameters
    ----------
    benchmark : its name.
    metric, statistic : of all points.
    at : (points,), levels of the factor.
    launches : (points,), number of launches.
    centre, low, high : (points,), median over launches and the ends of its interval or range; the value for one launch.
    values : places of points with equally many launches → their values, (points, launches).
    point : place → the point with its launches.
    describe : returns what the points share and other points of the benchmark do not, in words.
    """

    benchmark: str
    metric: str
    statistic: str
    at: Floats
    launches: Places
    centre: Floats
    low: Floats
    high: Floats
    values: Callable[[Places], Floats]
    point: Callable[[int], Point]
    describe: Callable[[], str] = str

    @classmethod
    def of(cls, points: Sequence[Point]) -> Series:
        """Return points as a series; they have a metric and a statistic in common."""
        ends = [one.ends for one in points]
        return cls(
            benchmark="",
            metric=points[0].metric,
            statistic=points[0].statistic,
            at=np.array([one.at for one in points]),
            launches=np.array([len(one.values) for one in points]),
            centre=np.array([one.centre for one in points]),
            low=np.array([low for low, _ in ends]),
            high=np.array([high for _, high in ends]),
            values=lambda places: np.stack([points[place].values for place in places.tolist()]),
            point=points.__getitem__,
        )

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True)
class View:
    """A campaign, as the rules see it. It is data: nothing of it is executed.

    Parameters
    ----------
    table : records, a row per point and launch.
    summary : a row per point.
    factors : benchmark → columns beside the size in which its points differ.
    launches : what metadata hold; None where only records are known.
    modes : fingerprint and launch → two modes of the iterations of a launch; absent where there is one mode, or where
        nobody looked.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    factors: Mapping[str, Sequence[str]]
    launches: Launches | None = None
    modes: Mapping[tuple[str, int], Modes] = field(default_factory=dict)

    @cached_property
    def records(self) -> Columns:
        """Columns of the records."""
        return Columns(self.table)

    @cached_property
    def _of_points(self) -> tuple[dict[str, int], Places, Places, Places]:
        """Fingerprint → place; rows of the records in the order of these, where those of each begin, and how many."""
        codes, names = pd.factorize(self.table["fingerprint"])
        counts = np.bincount(codes, minlength=len(names))
        return (
            dict(zip(names.tolist(), range(len(names)), strict=True)),
            np.argsort(codes, kind="stable"),
            np.cumsum(counts) - counts,
            counts,
        )

    def rows_of(self, fingerprint: str) -> Places:
        """Return the rows of the records of a point's launches."""
        places, order, begins, counts = self._of_points
        place = places.get(fingerprint)
        return order[:0] if place is None else order[begins[place] : begins[place] + counts[place]]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The points of each benchmark that this labkit knows."""
        places, order, begins, counts = self._of_points
        tables = {}
        for name, rows in by_benchmark(self.summary).items():
            if benchmarks.runnable(name):
                mine = np.array([places.get(one, -1) for one in rows["fingerprint"].tolist()], np.intp)
                count = np.where(mine < 0, 0, counts[mine])
                by_count = [
                    (points, order[begins[mine[points]][:, None] + np.arange(each)])
                    for each in np.unique(count[count > 0]).tolist()
                    for points in [np.flatnonzero(count == each)]
                ]
                tables[name] = Table(name, rows, self.records, by_count)
        return tables

    @cached_property
    def places(self) -> dict[str, tuple[Table, dict[str, int]]]:
        """Benchmark → its table, and fingerprint → row there."""
        names = {name: table.columns["fingerprint"].tolist() for name, table in self.tables.items()}
        return {
            name: (table, dict(zip(names[name], range(len(table)), strict=True))) for name, table in self.tables.items()
        }

    def switches(self, benchmark: str) -> list[int]:
        """Return how often rank 0 of each launch of a benchmark lost its processor; 0 for the launches of others."""
        if benchmark not in self._switches:
            counts = self.launches.fact(INVOLUNTARY_SWITCHES, benchmark) if self.launches else [0] * len(self.table)
            self._switches[benchmark] = counts
        return self._switches[benchmark]

    @cached_property
    def _switches(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def shares(self) -> Mapping[str, list[float]]:
        """Fingerprint → the share of the upper mode in each launch with two modes."""
        shares: dict[str, list[float]] = defaultdict(list)
        for (name, _), two in self.modes.items():
            shares[name].append(two.share)
        return shares

    def row(self, fingerprint: str) -> Row | None:
        """Return the row of the summary of a point; None where it is not there."""
        for table, places in reversed(self.places.values()):
            if (place := places.get(fingerprint)) is not None:
                return table.row(place)
        return None

    @cached_property
    def sized(self) -> tuple[Series, ...]:
        """Points that differ in their size."""
        return tuple(
            self.series("message_size_B", lambda size: float(size) or None, lambda size: format_size(int(size)))
        )

    def series(
        self,
        along: str,
        at: Callable[[Any], float | None],
        said: Callable[[float], str],
        *,
        metrics: Sequence[str] = HEADLINE_METRICS,
        replace: Mapping[str, Callable[[str], str]] | None = None,
        free: Sequence[str] = (),
    ) -> Iterator[Series]:
        """Yield the points of each benchmark that are equal in all but one factor.

        Parameters
        ----------
        along : column of the factor.
        at : value of the column → its level as a number; None leaves the point out.
        said : level → words.
        metrics : the first of the benchmark's that is one of these is taken.
        replace : column → function that takes the factor out of its text.
        free : further columns that may differ.
        """
        out = {along, *free} - set(replace or {})
        for table in self.tables.values():
            if along in table.levels:
                yield from self._along(table, along, at, said, metrics, replace or {}, out)

    def _along(
        self,
        table: Table,
        along: str,
        at: Callable[[Any], float | None],
        said: Callable[[float], str],
        metrics: Sequence[str],
        replace: Mapping[str, Callable[[str], str]],
        out: set[str],
    ) -> Iterator[Series]:
        """Yield the series of a benchmark: points with a metric and a statistic in common, and each level once."""
        codes, levels = table.levels[along]
        level_at = np.array([np.nan if (number := at(one)) is None else number for one in levels])[codes]
        here = np.flatnonzero(~np.isnan(level_at))
        group = np.zeros(len(here), np.intp)
        for name, (codes, levels) in table.levels.items():
            if name not in out:
                if name in replace:
                    codes = pd.factorize(np.array([replace[name](str(one)) for one in levels], object))[0][codes]
                group = pd.factorize(group * (codes.max() + 1) + codes[here])[0]  # numbered as they occur
        order = np.lexsort((level_at[here], group))
        here, group = here[order], group[order]
        twice = group[1:][(group[1:] == group[:-1]) & (level_at[here][1:] == level_at[here][:-1])]
        counts = np.bincount(group)
        counts[twice] = 0
        ends = np.cumsum(np.bincount(group))
        chosen, names = table.headlines(tuple(metrics))
        for number in np.flatnonzero(counts > 1).tolist():
            points = here[ends[number] - counts[number] : ends[number]]
            metric = int(chosen[points[0]])
            if metric >= 0:
                yield from self._one(table, points, level_at[points], names[metric], said, out)

    def _one(
        self, table: Table, points: Places, at: Floats, metric: str, said: Callable[[float], str], out: set[str]
    ) -> Iterator[Series]:
        """Yield a series if its points have a statistic in common."""
        values, first = table.values(metric), int(points[0])
        there = values.statistic[points] >= 0
        points, at = points[there], at[there]
        statistics = set(values.statistic[points].tolist())
        if len(points) < 2 or len(statistics) > 1:
            return
        statistic = HEADLINES[statistics.pop()]

        def point(place: int) -> Point:
            level = float(at[place])
            made = table.point(int(points[place]), metric, said(level), level)
            assert made is not None  # those without a value are left out
            return made

        yield Series(
            benchmark=table.benchmark,
            metric=metric,
            statistic=statistic,
            at=at,
            launches=table.launches[points],
            centre=values.centre[points],
            low=values.low[points],
            high=values.high[points],
            values=lambda places: table.of_launches(points[places], metric, statistic),
            point=point,
            describe=lambda: self.setting(table.row(first), out | {"fingerprint"}),
        )

    def setting(self, row: Mapping[str, Any], out: set[str] | frozenset[str] = frozenset()) -> str:
        """Return what tells a point from others of its benchmark, without some columns."""
        wanted = [c for c in self.factors.get(str(row["benchmark"]), ()) if c not in out and c in row]
        size = [] if "message_size_B" in out or not row["message_size_B"] else [format_size(int(row["message_size_B"]))]
        return ", ".join([*size, *(f"{named(c)}={text(row, c)}" for c in wanted if level(row[c]) != NONE)])

    def again(self, *rows: Mapping[str, Any], launches: int = stats.LAUNCHES) -> str:
        """Return the command that measures points again, with enough launches to decide; empty where it is not known.

        The points may differ in their sizes and testbeds; there is a command for each testbed.
        """
        if not self.launches:
            return ""
        found = [self.rows_of(str(row["fingerprint"])) for row in rows]
        specs = [self.launches.spec(int(its[-1])) for its in found if len(its)]
        if any(rerun.imported(spec) for spec in specs):
            return rerun.IMPORT
        commands: dict[tuple[str, ...], list[int]] = {}
        for spec in specs:
            sizes = commands.setdefault(tuple(rerun.words(spec)), [])
            sizes += [spec.size] if spec.size not in sizes else []
        texts = []
        for words, sizes in commands.items():
            sized = benchmarks.get(words[2]).sized
            chosen = ["-m", ",".join(map(str, sorted(sizes)))] if sized else []
            texts.append(shlex.join([*words[:3], *chosen, *words[3:], "--launches", str(launches)]))
        return joined(texts)


def headline(row: Mapping[str, Any]) -> str:
    """Return the first metric of a point that gives expectations; empty if it has none."""
    for metric in benchmarks.get(str(row["benchmark"])).metrics:
        if metric in HEADLINE_METRICS and any(row.get(statistic_column(metric, one), 0) > 0 for one in _LEADS):
            return metric
    return ""


def worse(metric: str) -> int:
    """Return 1 if larger values of a metric are worse, else −1."""
    return 1 if METRICS[metric].better == "lower" else -1


def holding(cells: Any, test: Callable[[Any], bool]) -> NDArray[np.bool_]:
    """Return which cells pass a test, which is made once for each different object; many cells are the same one."""
    listed = cells.tolist()  # a column, or an array
    passed = {key: test(cell) for key, cell in {id(cell): cell for cell in listed}.items()}
    return np.array([passed[id(cell)] for cell in listed], bool)


def in_files(records: Columns, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return some rows of records in the order of their files: by benchmark, fingerprint and launch."""
    keys = [pd.factorize(records[name][rows], sort=True)[0] for name in ("launch", "fingerprint", "benchmark")]
    return rows[np.lexsort(keys)]
