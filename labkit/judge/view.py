"""A campaign as rules see it: columns of its records, its points, and what its metadata hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.judge import all_pairs, plausibility
from labkit.judge.finding import Subject, Value
from labkit.judge.pair_causes import Part
from labkit.judge.plausibility import Oddity
from labkit.judge.plausibility.view import Columns, Row
from labkit.models.bounds import Stated, quantity
from labkit.models.costs import Costs, measured_costs
from labkit.point.columns import METRICS, Metric, split, statistic_column
from labkit.point.units import format_size
from labkit.read.records import aggregate
from labkit.read.records.factors import differing, named, text
from labkit.stats.modes import Modes
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT, RANK_HOSTS

if TYPE_CHECKING:
    from labkit.read.columnar import Launches


@dataclass(frozen=True, eq=False)
class View:
    """A campaign as rules see it. It is data: nothing of it is executed.

    Parameters
    ----------
    name : of the campaign.
    records : a row per point and launch, from `labkit.read.records.table`.
    summary : a row per point, from `labkit.read.records.summary`.
    launches : what metadata hold; None where only records are known.
    failed : what was skipped or failed, with the reason.
    modes : fingerprint and launch → the two modes of its iterations, where there are two.
    stated : what a user says of the path; None for nothing.
    machine : host → what it costs without a network, if that is not of these points; None: from these points.
    """

    name: str
    records: pd.DataFrame
    summary: pd.DataFrame
    launches: Launches | None = None
    failed: Sequence[tuple[str, str]] = ()
    modes: Mapping[tuple[str, int], Modes] = field(default_factory=dict)
    stated: Stated | None = None
    machine: Mapping[str, Costs] | None = None

    @cached_property
    def costs(self) -> Mapping[str, Costs]:
        """Host → what it costs without a network."""
        return measured_costs(self.summary) if self.machine is None else self.machine

    def rows_of(self, fingerprint: str) -> NDArray[np.intp]:
        """Return the rows of the records of a point's launches."""
        return self._rows.get(fingerprint, np.empty(0, np.intp))

    @cached_property
    def _rows(self) -> dict[str, NDArray[np.intp]]:
        """Fingerprint → rows of the records."""
        codes, names = pd.factorize(self.records["fingerprint"])
        order = np.argsort(codes, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
        return dict(zip(names.tolist(), parts, strict=True))

    def first_launches(self, fingerprints: Sequence[str]) -> dict[str, Samples]:
        """Return for each point one launch, the first in the order of the records; its metadata stand for the point."""
        if self.launches is None:
            return {}
        names = self.records["fingerprint"]
        rows = np.flatnonzero(names.isin(fingerprints))[::-1].tolist()
        first = dict(zip(names.iloc[rows], rows, strict=True))
        samples = self.launches.samples([*first.values()])
        return {name: samples[row] for name, row in first.items() if row in samples}

    @cached_property
    def odd(self) -> tuple[Oddity, ...]:
        """Results that contradict what must be expected, the surest first."""
        return plausibility.check(
            plausibility.View(self.records, self.summary, self.factors, self.launches, self.modes)
        )

    @cached_property
    def slow_pairs(self) -> tuple[list[str], list[Part], NDArray[np.bool_]] | None:
        """Host of each rank, slow parts, and slow pairs of ranks in a launch of mpi.all_pairs; None without one."""
        rows = np.flatnonzero(self.records["benchmark"] == all_pairs.BENCHMARK)[:1].tolist()
        for one in self.launches.samples(rows).values() if self.launches is not None else ():
            if one.n and len(one.time_ns) == one.spec.ranks and RANK_HOSTS.of(one.meta):
                return all_pairs.hosts_of(one), *all_pairs.judged_once(one)
        return None

    @cached_property
    def factors(self) -> dict[str, list[str]]:
        """Benchmark → columns beside the size in which its points differ."""
        return {name: differing(rows, skip=("fingerprint", "campaign")) for name, rows in self.by_benchmark()}

    @cached_property
    def last(self) -> NDArray[np.intp]:
        """Row of the records of each point's last launch, (points,); its metadata stand for the point."""
        rows = dict(zip(self.records["fingerprint"].tolist(), range(len(self.records)), strict=True))
        return np.array([rows[name] for name in self.column("fingerprint").tolist()], np.intp)

    @cached_property
    def repeats(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Points with equally many launches, (points,), and their rows of the records by start, (points, launches)."""
        if self.records.empty:
            return []
        place = np.array([self._last[name] for name in self.records["fingerprint"].tolist()], np.intp)
        order = np.lexsort((self.records["start"].to_numpy(str), place))
        counts = np.bincount(place, minlength=len(self.summary))
        begins = np.cumsum(counts) - counts
        groups = [(count, np.flatnonzero(counts == count)) for count in np.unique(counts).tolist()]
        return [(points, order[begins[points][:, None] + np.arange(count)]) for count, points in groups]

    def of_kinds(self, function: Callable[[Samples], Any], unknown: Any = False) -> NDArray[Any]:
        """Return for each point what a function makes of its metadata; where no metadata are known, another value."""
        if self.launches is None or self.summary.empty:
            return np.full(len(self.summary), unknown)
        return np.array([*map(function, self.launches.kinds)])[self.launches.kind[self.last]]

    def by_benchmark(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the name and the rows of each benchmark, with the columns it has."""
        yield from aggregate.by_benchmark(self.summary).items()

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the summary, (points,); NaN where it is not there."""
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
        """Points whose times vary by chance, (points,); those of a simulation do not."""
        return ~np.isin(self.column("origin").astype(str), ("simulated", "modelled"))

    def rows(self, which: NDArray[np.bool_]) -> Iterator[Row]:
        """Yield the rows of some points."""
        return (Row(self.columns, place) for place in np.flatnonzero(which).tolist())

    def pairs(self, columns: Sequence[NDArray[np.bool_]]) -> Iterator[tuple[Row, int]]:
        """Yield the row of each point and the place of each column that holds for it, point after point."""
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
        """Return the size and settings that tell a point from the others of its benchmark; empty if it is not there."""
        if fingerprint not in self._labels:
            text_of = ""
            if (place := self._last.get(fingerprint)) is not None:
                row = Row(self.columns, place)
                size = [format_size(int(row["message_size_B"]))] if row["message_size_B"] else []
                factors = self.factors[str(row["benchmark"])]
                text_of = ", ".join([*size, *(f"{named(c)}={text(row, c)}" for c in factors)])
            self._labels[fingerprint] = text_of
        return self._labels[fingerprint]

    def subject(self, row: Mapping[str, Any], *, launch: bool = False) -> Subject:
        """Return the point of a row, or the launch of a row of the records, as the subject of a finding."""
        name = row["fingerprint"]
        if name not in self._subjects:
            self._subjects[name] = self._subject(row, self.label(name))
        one = self._subjects[name]
        return self._subject(row, f"{one.setting} launch {row['launch']}".strip()) if launch else one

    @cached_property
    def _subjects(self) -> dict[str, Subject]:
        return {}  # many rules may find something at one point

    @staticmethod
    def _subject(row: Mapping[str, Any], setting: str) -> Subject:
        imported = row["origin"] in BROUGHT
        return Subject(benchmark=row["benchmark"], setting=setting, points=(row["fingerprint"],), imported=imported)

    @staticmethod
    def value(row: Mapping[str, Any], metric: str, statistic: str) -> Value:
        """Return the value of a metric in a row of the summary."""
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
        )

    @staticmethod
    def of_rows(rows: pd.DataFrame, setting: str = "") -> Subject:
        """Return points of one benchmark together as the subject of a finding."""
        return Subject(
            benchmark=str(rows["benchmark"].iloc[0]),
            setting=setting,
            points=tuple(dict.fromkeys(rows["fingerprint"].tolist())),
            imported=set(rows["origin"]) <= {*BROUGHT},
        )
