"""What plausibility rules see of a campaign: its points with their launches, in series that differ in one factor."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit import benchmarks, stats
from labkit.analysis.plausibility.deciding import Point
from labkit.columns import METRICS, statistic_column
from labkit.notes import joined
from labkit.records import GIVEN, HEADLINES, again
from labkit.records.factors import NONE, SETTING, level, named, text
from labkit.samples import Samples
from labkit.samples.facts import FINGERPRINT
from labkit.spec import Spec
from labkit.stats.modes import Modes
from labkit.units import format_size

if TYPE_CHECKING:
    import pandas as pd

# a metric of one operation, for which sizes, ranks and links give expectations
TIMED = ("latency_us", "round_trip_us")
PER_BYTE = ("bandwidth_MBps", "algbw_GBps", "busbw_GBps")
PER_MESSAGE = ("message_rate_per_s", "transaction_rate_per_s", "iops_per_s")
_WHERE = ("host", "cpu_model", "campaign", "allocation")


@dataclass(frozen=True)
class Series:
    """Points of a benchmark that differ in one factor.

    Parameters
    ----------
    benchmark : its name.
    setting : what the points share and other points of the benchmark do not, in words.
    points : in the order of the factor.
    """

    benchmark: str
    setting: str
    points: tuple[Point, ...]

    @property
    def metric(self) -> str:
        """Metric of all points."""
        return self.points[0].metric


@dataclass(frozen=True)
class View:
    """A campaign, as the rules see it. It is data: nothing of it is executed.

    Parameters
    ----------
    points : samples; their values may be left out.
    records : a row per point and launch.
    summary : a row per point.
    factors : benchmark → columns beside the size in which its points differ.
    modes : fingerprint and launch → two modes of the iterations of a launch; absent where there is one mode, or where
        nobody looked.
    """

    points: Sequence[Samples]
    records: pd.DataFrame
    summary: pd.DataFrame
    factors: Mapping[str, Sequence[str]]
    modes: Mapping[tuple[str, int], Modes] = field(default_factory=dict)

    @cached_property
    def specs(self) -> dict[str, Spec]:
        """Fingerprint → its spec."""
        return {FINGERPRINT.of(one.meta): one.spec for one in self.points}

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The summary as rows, of benchmarks that this labkit knows."""
        return [row for row in _rows(self.summary) if row["benchmark"] in benchmarks.find()]

    @cached_property
    def launches(self) -> dict[str, list[dict[str, Any]]]:
        """Fingerprint → the rows of its launches."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in _rows(self.records):
            groups.setdefault(str(row["fingerprint"]), []).append(row)
        return groups

    def by_benchmark(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the name and the summary rows of each benchmark."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(str(row["benchmark"]), []).append(row)
        yield from groups.items()

    @cached_property
    def _levels(self) -> dict[str, list[dict[str, str]]]:
        """Benchmark → for each row, the levels of the columns in which its rows differ."""
        levels: dict[str, list[dict[str, str]]] = {}
        for name, rows in self.by_benchmark():
            columns = [c for c in (*SETTING, *_WHERE, "message_size_B", *_given(rows[0])) if c in rows[0]]
            texts = {c: [level(row[c]) for row in rows] for c in columns}
            varied = {c: each for c, each in texts.items() if len({*each}) > 1}
            levels[name] = [{c: each[place] for c, each in varied.items()} for place in range(len(rows))]
        return levels

    def point(self, row: Mapping[str, Any], metric: str, where: str = "", at: float = 0.0) -> Point | None:
        """Return a point with its launches; None where a launch has no positive value of the metric."""
        launches = self.launches.get(str(row["fingerprint"]), [])
        for statistic in HEADLINES:
            column = statistic_column(metric, statistic)
            values = np.array([launch.get(column, np.nan) for launch in launches], np.float64)
            if values.size and (values > 0).all():
                return Point(row, values, metric, statistic, where, at)
        return None

    def headline(self, row: Mapping[str, Any], among: Sequence[str] = (*TIMED, *PER_BYTE, *PER_MESSAGE)) -> str:
        """Return the first metric of a point that is one of these; empty if it has none."""
        for metric in benchmarks.get(str(row["benchmark"])).metrics:
            if metric in among and any(row.get(statistic_column(metric, s), 0) > 0 for s in ("p50", "mean", "value")):
                return metric
        return ""

    def series(
        self,
        along: str,
        at: Callable[[Mapping[str, Any]], float | None],
        said: Callable[[float], str],
        *,
        metrics: Sequence[str] = (*TIMED, *PER_BYTE, *PER_MESSAGE),
        replace: Mapping[str, Callable[[str], str]] | None = None,
        free: Sequence[str] = (),
    ) -> Iterator[Series]:
        """Yield the points of each benchmark that are equal in all but one factor.

        Parameters
        ----------
        along : column of the factor.
        at : row → its level as a number; None leaves the row out.
        said : level → words.
        metrics : the first of the benchmark's that is one of these is taken.
        replace : column → function that takes the factor out of its text.
        free : further columns that may differ.
        """
        out = {along, *free} - set(replace or {})
        for name, rows in self.by_benchmark():
            groups: dict[tuple[str, ...], list[tuple[float, Mapping[str, Any]]]] = {}
            for row, levels in zip(rows, self._levels[name], strict=True):
                place = at(row)
                if place is not None:
                    key = tuple((replace or {}).get(c, str)(text) for c, text in levels.items() if c not in out)
                    groups.setdefault(key, []).append((place, row))
            for group in groups.values():
                yield from self._one(name, sorted(group, key=lambda one: one[0]), said, metrics, out)

    def _one(
        self,
        name: str,
        group: Sequence[tuple[float, Mapping[str, Any]]],
        said: Callable[[float], str],
        metrics: Sequence[str],
        out: set[str],
    ) -> Iterator[Series]:
        """Yield a series if its points have a metric and a statistic in common, and each level once."""
        metric = self.headline(group[0][1], metrics)
        if len(group) < 2 or not metric or len({place for place, _ in group}) < len(group):
            return
        made = [self.point(row, metric, said(place), place) for place, row in group]
        points = tuple(one for one in made if one is not None)
        if len(points) > 1 and len({one.statistic for one in points}) == 1:
            yield Series(name, self.setting(group[0][1], out | {"fingerprint"}), points)

    def setting(self, row: Mapping[str, Any], out: set[str] | frozenset[str] = frozenset()) -> str:
        """Return what tells a point from others of its benchmark, without some columns."""
        wanted = [c for c in self.factors.get(str(row["benchmark"]), ()) if c not in out and c in row]
        size = [] if "message_size_B" in out or not row["message_size_B"] else [format_size(int(row["message_size_B"]))]
        return ", ".join([*size, *(f"{named(c)}={text(row, c)}" for c in wanted if level(row[c]) != NONE)])

    def again(self, *rows: Mapping[str, Any], launches: int = stats.LAUNCHES) -> str:
        """Return the command that measures points again, with enough launches to decide; empty where it is not known.

        The points may differ in their sizes and testbeds; there is a command for each testbed.
        """
        specs = [spec for row in rows if (spec := self.specs.get(str(row["fingerprint"])))]
        if any(again.imported(spec) for spec in specs):
            return again.IMPORT
        commands: dict[tuple[str, ...], list[int]] = {}
        for spec in specs:
            sizes = commands.setdefault(tuple(again.words(spec)), [])
            sizes += [spec.size] if spec.size not in sizes else []
        texts = []
        for words, sizes in commands.items():
            sized = benchmarks.get(words[2]).sized
            chosen = ["-m", ",".join(map(str, sorted(sizes)))] if sized else []
            texts.append(shlex.join([*words[:3], *chosen, *words[3:], "--launches", str(launches)]))
        return joined(texts)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return [{str(name): value for name, value in row.items()} for row in frame.astype(object).to_dict("records")]


def _given(row: Mapping[str, Any]) -> list[str]:
    """Return the columns of options and variables."""
    return [name for name in row if name.startswith(GIVEN)]


def worse(metric: str) -> int:
    """Return 1 if larger values of a metric are worse, else −1."""
    return 1 if METRICS[metric].better == "lower" else -1
