"""A campaign as rules see it: columns of its records, its points, and its metadata."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.judge import all_pairs, iterations
from labkit.judge.finding import Subject, Value, Wanted
from labkit.judge.iterations import Iterations
from labkit.judge.pair_causes import Part
from labkit.judge.view.points import HEADLINE_METRICS, Columns, Floats, Places, Point, Row, Series, Table
from labkit.models.bounds import Stated, quantity
from labkit.models.costs import Costs, measured_costs
from labkit.point import testbed_words
from labkit.point.columns import METRICS, Metric, split, statistic_column
from labkit.point.notes import joined
from labkit.point.spec import Spec
from labkit.point.units import format_size
from labkit.read.records import HEADLINES, aggregate, rerun, resolution
from labkit.read.records.factors import NONE, level, named, text
from labkit.read.records.value import value_of
from labkit.stats.modes import Modes
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT, INVOLUNTARY_SWITCHES, RANK_HOSTS, WARMUP

if TYPE_CHECKING:
    from labkit.read.columnar import Launches


@dataclass(frozen=True, eq=False)
class View:
    """A campaign as rules see it. It is data and never executed.

    Parameters
    ----------
    name : name of the campaign.
    records : a row per point and launch, from `labkit.read.records.table`.
    summary : a row per point, from `labkit.read.records.summary`.
    launches : metadata; None if only records are known.
    failed : what was skipped or failed, with the reason.
    modes : fingerprint and launch → two modes of its iterations, if there are two (default: computed from the times).
    stated : facts about the path from the user; None for nothing.
    machine : host → its costs without a network (default: from these points).
    place : place of the campaign, as the command line takes it (default: its name).
    here : whether the campaign was measured on this machine, so labkit can measure missing points.
    """

    name: str
    records: pd.DataFrame
    summary: pd.DataFrame
    launches: Launches | None = None
    failed: Sequence[tuple[str, str]] = ()
    modes: Mapping[tuple[str, int], Modes] | None = None
    stated: Stated | None = None
    machine: Mapping[str, Costs] | None = None
    place: str = ""
    here: bool = False

    @property
    def argument(self) -> str:
        """The campaign as an argument of a command."""
        return shlex.quote(self.place or self.name)

    @property
    def explain(self) -> str:
        """The command that explains the campaign again, with the facts from the user."""
        return " ".join(("labkit explain", self.argument, *(self.stated or Stated()).words))

    @cached_property
    def costs(self) -> Mapping[str, Costs]:
        """Host → its costs without a network."""
        return measured_costs(self.summary) if self.machine is None else self.machine

    @cached_property
    def _of_points(self) -> tuple[dict[str, int], Places, Places, Places]:
        """Fingerprint → place; rows of the records in the order of these, where those of each begin, and how many."""
        codes, names = pd.factorize(self.records["fingerprint"])
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

    def first_launches(self, fingerprints: Sequence[str]) -> dict[str, Samples]:
        """Return the first launch of each point in the records; its metadata represent the point."""
        if self.launches is None:
            return {}
        wanted = [name for name in dict.fromkeys(fingerprints) if len(self.rows_of(name))]
        rows = {name: int(self.rows_of(name)[0]) for name in wanted if name not in self._first}
        samples = self.launches.samples([*rows.values()])
        self._first.update({name: samples[row] for name, row in rows.items() if row in samples})
        return {name: self._first[name] for name in wanted if name in self._first}

    @cached_property
    def _first(self) -> dict[str, Samples]:
        return {}  # several rules and the causes ask for those of the same points

    @cached_property
    def slow_pairs(self) -> tuple[list[str], list[Part], NDArray[np.bool_]] | None:
        """Host of each rank, slow parts, and slow pairs of ranks in a launch of mpi.all_pairs; None without one."""
        rows = np.flatnonzero(self.records["benchmark"] == all_pairs.BENCHMARK)[:1].tolist()
        for one in self.launches.samples(rows).values() if self.launches is not None else ():
            if one.n and len(one.time_ns) == one.spec.ranks and RANK_HOSTS.of(one.meta):
                parts, slow = all_pairs.judged_once(one)
                seldom = np.isnan(all_pairs.matrix(one, low=True)).sum() > one.spec.ranks  # beside the diagonal
                return None if seldom and not parts and not slow.any() else (all_pairs.hosts_of(one), parts, slow)
        return None

    @cached_property
    def factors(self) -> dict[str, list[str]]:
        """Benchmark → columns other than the size in which its points differ."""
        return {name: part.factors for name, part in self.parts.items()}

    @cached_property
    def last(self) -> NDArray[np.intp]:
        """Row of the records of each point's last launch, (points,); its metadata represent the point."""
        rows = dict(zip(self.records["fingerprint"].tolist(), range(len(self.records)), strict=True))
        return np.array([rows[name] for name in self.column("fingerprint").tolist()], np.intp)

    @cached_property
    def repeats(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Points grouped by their number of launches: (points,) and their records by start, (points, launches)."""
        if self.records.empty:
            return []
        place = np.array([self._last[name] for name in self.records["fingerprint"].tolist()], np.intp)
        order = np.lexsort((self.records["start"].to_numpy(str), place))
        counts = np.bincount(place, minlength=len(self.summary))
        begins = np.cumsum(counts) - counts
        groups = [(count, np.flatnonzero(counts == count)) for count in np.unique(counts).tolist()]
        return [(points, order[begins[points][:, None] + np.arange(count)]) for count, points in groups]

    def of_kinds(self, function: Callable[[Samples], Any], unknown: Any = False) -> NDArray[Any]:
        """Return the result of a function of the metadata of each point, or another value without metadata."""
        if self.launches is None or self.summary.empty:
            return np.full(len(self.summary), unknown)
        return np.array([*map(function, self.launches.kinds)])[self.launches.kind[self.last]]

    def by_benchmark(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the name and the rows of each benchmark, with the columns it has."""
        yield from self.rows_of_benchmarks.items()

    @cached_property
    def rows_of_benchmarks(self) -> Mapping[str, pd.DataFrame]:
        """Benchmark → its rows, with the columns it has."""
        return aggregate.by_benchmark(self.summary)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the summary, (points,); NaN if it is not there."""
        return self.columns[name] if name in self.columns else np.full(len(self.summary), np.nan)

    @cached_property
    def columns(self) -> Columns:
        """Columns of the summary."""
        return Columns(self.summary)

    @cached_property
    def numbers(self) -> list[tuple[Metric, str, NDArray[np.float64]]]:
        """Metric, statistic and column of every number of a point, in their order."""
        parts = [(name, split(str(name))) for name in self.summary]
        return [(METRICS[part[0]], part[1], self.summary[name].to_numpy(np.float64)) for name, part in parts if part]

    @cached_property
    def random(self) -> NDArray[np.bool_]:
        """Whether the times of each point vary by chance, (points,); simulated times do not."""
        return ~np.isin(self.column("origin").astype(str), ("simulated", "modelled"))

    def rows(self, which: NDArray[np.bool_]) -> Iterator[Row]:
        """Yield the rows of some points."""
        return (Row(self.columns, place) for place in np.flatnonzero(which).tolist())

    def pairs(self, columns: Sequence[NDArray[np.bool_]]) -> Iterator[tuple[Row, int]]:
        """Yield the row of each point with the position of each column that is true for it, point after point."""
        if columns:
            for place, column in np.argwhere(np.stack(columns, axis=1)).tolist():
                yield Row(self.columns, place), column

    @cached_property
    def _last(self) -> dict[str, int]:
        """Fingerprint → its row."""
        return dict(zip(self.column("fingerprint").tolist(), range(len(self.summary)), strict=True))

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {}

    def label(self, fingerprint: str) -> str:
        """Return the size and settings that distinguish a point from others of its benchmark; empty if missing."""
        if fingerprint not in self._labels:
            place = self._last.get(fingerprint)
            self._labels[fingerprint] = "" if place is None else self.setting(Row(self.columns, place))
        return self._labels[fingerprint]

    def subject(self, row: Mapping[str, Any], *, launch: bool = False) -> Subject:
        """Return the point of a row, or the launch of a row of the records, as the subject of a finding."""
        name = row["fingerprint"]
        if name not in self._subjects:
            self._subjects[name] = self.points(row, setting=self.label(name))
        one = self._subjects[name]
        return self.points(row, setting=f"{one.setting} launch {row['launch']}".strip()) if launch else one

    @cached_property
    def _subjects(self) -> dict[str, Subject]:
        return {}  # many rules may find something at one point

    @staticmethod
    def points(*rows: Mapping[str, Any], setting: str) -> Subject:
        """Return the points of some rows, which are of one benchmark, as the subject of a finding."""
        return Subject(
            benchmark=rows[0]["benchmark"],
            setting=setting,
            points=tuple(dict.fromkeys(row["fingerprint"] for row in rows)),
            imported=all(row["origin"] in BROUGHT for row in rows),
        )

    @staticmethod
    def value(row: Mapping[str, Any], metric: str, statistic: str) -> Value:
        """Return the value of a metric in a row of the summary, with the digits that all tables show."""
        shown = value_of(row, metric, statistic)
        return Value(
            value=float(row[statistic_column(metric, statistic)]),
            unit=METRICS[metric].unit,
            low=float(row[f"{metric}_low"]),
            high=float(row[f"{metric}_high"]),
            n=int(row["n"]),
            launches=int(row["launches"]),
            origin=str(row["origin"]),
            of=quantity(str(row["benchmark"]), metric),
            fingerprint=str(row["fingerprint"]),
            sign=resolution.sign(METRICS[metric].unit) if shown.coarse else "",
            step=shown.step,
        )

    @staticmethod
    def of_rows(rows: pd.DataFrame, setting: str = "") -> Subject:
        """Return several points of one benchmark as the subject of a finding."""
        return Subject(
            benchmark=str(rows["benchmark"].iloc[0]),
            setting=setting,
            points=tuple(dict.fromkeys(rows["fingerprint"].tolist())),
            imported=set(rows["origin"]) <= {*BROUGHT},
        )

    @cached_property
    def record_columns(self) -> Columns:
        """Columns of the records."""
        return Columns(self.records)

    @cached_property
    def parts(self) -> dict[str, Table]:
        """The points of each benchmark."""
        places, order, begins, counts = self._of_points
        tables = {}
        for name, rows in self.by_benchmark():
            mine = np.array([places.get(one, -1) for one in rows["fingerprint"].tolist()], np.intp)
            count = np.where(mine < 0, 0, counts[mine])
            by_count = [
                (points, order[begins[mine[points]][:, None] + np.arange(each)])
                for each in np.unique(count[count > 0]).tolist()
                for points in [np.flatnonzero(count == each)]
            ]
            tables[name] = Table(name, rows, self.record_columns, by_count)
        return tables

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The points of each benchmark that this labkit can run."""
        return {name: table for name, table in self.parts.items() if benchmarks.runnable(name)}

    def switches(self, benchmark: str) -> list[int]:
        """Return how often rank 0 of each launch of a benchmark lost its processor; 0 for the launches of others."""
        if benchmark not in self._switches:
            counts = self.launches.fact(INVOLUNTARY_SWITCHES, benchmark) if self.launches else [0] * len(self.records)
            self._switches[benchmark] = counts
        return self._switches[benchmark]

    @cached_property
    def _switches(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def iterations(self) -> Iterations:
        """Effects in the times of the iterations; the first call reads the times."""
        return iterations.of(self.launches) if self.launches is not None else Iterations()

    @property
    def two_modes(self) -> Mapping[tuple[str, int], Modes]:
        """Fingerprint and launch → two modes of its iterations, if there are two."""
        return self.iterations.modes if self.modes is None else self.modes

    @cached_property
    def shares(self) -> Mapping[str, list[float]]:
        """Fingerprint → the share of the upper mode in each launch with two modes."""
        shares: dict[str, list[float]] = defaultdict(list)
        for (name, _), two in self.two_modes.items():
            shares[name].append(two.share)
        return shares

    def row(self, fingerprint: str) -> Row | None:
        """Return the row of the summary of a point; None without one."""
        place = self._last.get(fingerprint)
        table = self.tables.get(str(self.column("benchmark")[place])) if place is not None else None
        return table.row(table.places[fingerprint]) if table else None

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
        metrics : the first of the benchmark's metrics that is one of these is used.
        replace : column → function that removes the factor from its text.
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
            at=at,
            launches=table.launches[points],
            centre=values.centre[points],
            values=lambda places: table.of_launches(points[places], metric, statistic),
            point=point,
            describe=lambda: self.setting(table.row(first), out | {"fingerprint"}),
        )

    def setting(self, row: Mapping[str, Any], out: set[str] | frozenset[str] = frozenset()) -> str:
        """Return the settings that distinguish a point from others of its benchmark, without some columns."""
        wanted = [c for c in self.factors.get(str(row["benchmark"]), ()) if c not in out and c in row]
        size = [] if "message_size_B" in out or not row["message_size_B"] else [format_size(int(row["message_size_B"]))]
        levels = {c: text(row, c) for c in wanted if level(row[c]) != NONE}
        imported = row.get("origin") in BROUGHT
        said = (
            testbed_words.labelled(t, imported=imported) if c == "testbed" else f"{named(c)}={t}"
            for c, t in levels.items()
        )
        return ", ".join([*size, *said])

    def again(self, *rows: Mapping[str, Any]) -> str:
        """Return the command that measures points again, with more launches; empty if unknown.

        The points may differ in their sizes and testbeds; there is a command for each testbed.
        """
        wanted = [one for row in rows if (one := self.more(str(row["fingerprint"])))]
        if any(rerun.imported(one.spec) for one in wanted):
            return rerun.IMPORT
        most = max((one.launches for one in wanted), default=0)
        return measuring([replace(one, launches=most) for one in wanted])

    def spec(self, fingerprint: str) -> Spec | None:
        """Return the spec of a point; None if unknown."""
        rows = self.rows_of(fingerprint)
        return self.launches.spec(int(rows[-1])) if self.launches and len(rows) else None

    def more(self, fingerprint: str) -> Wanted | None:
        """Return a point with the next multiple of the launches needed to decide; None if it is unknown."""
        spec = self.spec(fingerprint)
        there = len(self.rows_of(fingerprint))
        return Wanted(spec, stats.LAUNCHES * (there // stats.LAUNCHES + 1)) if spec else None

    @cached_property
    def _works(self) -> Mapping[Spec, list[int]]:
        """Spec without size and launcher → kinds of launches that have it."""
        found: dict[Spec, list[int]] = defaultdict(list)
        for place, one in enumerate(self.launches.kinds if self.launches else ()):
            if benchmarks.runnable(one.spec.benchmark):
                found[_work(one.spec)].append(place)
        return found

    def rows_with(self, wanted: Wanted) -> Places:
        """Return the rows of the records of the launches that a wanted point has."""
        spec, launches = wanted.spec, self.launches
        if launches is None or not benchmarks.possible(spec):
            return np.empty(0, np.intp)
        rows, ends = self._of_kinds
        parts = [
            rows[ends[kind] : ends[kind + 1]]
            for kind in self._works.get(_work(spec), ())
            if spec.launcher in ("auto", launches.kinds[kind].spec.launcher)
            and (not wanted.warmup or WARMUP.of(launches.kinds[kind].meta) >= wanted.warmup)
        ]
        found: Places = np.sort(np.concatenate([rows[:0], *parts]))
        sized: NDArray[np.bool_] = self.record_columns["message_size_B"][found] == spec.size
        return found[sized]

    @cached_property
    def _of_kinds(self) -> tuple[Places, Places]:
        """Rows of the records by the kind of their launches, and where those of each kind begin."""
        kind = self.launches.kind if self.launches else np.empty(0, np.intp)
        return np.argsort(kind, kind="stable"), np.append(0, np.cumsum(np.bincount(kind)))

    def measured(self, wanted: Wanted) -> Row | None:
        """Return the row of the summary of a wanted point; None if it has too few launches."""
        rows = self.rows_with(wanted)
        if len(rows) < wanted.launches:
            return None
        return self.row(str(self.record_columns["fingerprint"][rows[-1]]))

    def lacking(self, wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
        """Return the possible points that have too few launches to decide."""
        return tuple(
            one
            for one in dict.fromkeys(wanted)
            if benchmarks.possible(one.spec) and len(self.rows_with(one)) < one.launches
        )

    def deciding(self, wanted: Sequence[Wanted]) -> str:
        """Return how to measure points into the campaign: a command on its machine, else a sentence; empty for none."""
        if not wanted:
            return ""
        if self.here:
            return f"{self.explain} --decide"
        return f"On the machine of the campaign: {self.explain} --decide."


def _work(spec: Spec) -> Spec:
    """Return a spec without what does not matter where points are looked for: its size, its launcher, defaults."""
    return benchmarks.identity(spec).replace(launcher="auto", size=0)


def measuring(wanted: Iterable[Wanted]) -> str:
    """Return the commands that measure points; those that differ only in their sizes share one."""
    commands: dict[tuple[str, ...], list[int]] = {}
    for one in wanted:
        effort = [*(["-x", str(one.warmup)] if one.warmup else []), "--launches", str(one.launches)]
        sizes = commands.setdefault((*rerun.words(one.spec), *effort), [])
        sizes += [one.spec.size] if one.spec.size not in sizes else []
    texts = []
    for words, sizes in commands.items():
        sized = benchmarks.get(words[2]).sized
        chosen = ["-m", ",".join(map(str, sorted(sizes)))] if sized else []
        texts.append(shlex.join([*words[:3], *chosen, *words[3:]]))
    return joined(texts)
