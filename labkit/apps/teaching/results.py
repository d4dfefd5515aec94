"""The samples of a lab's points, as tables: questions and figures are computed from them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, figures, testbeds
from labkit.apps.teaching.expected import Expected, aggregate
from labkit.errors import DataError
from labkit.figures.parts import Figure
from labkit.models import costs
from labkit.models.costs import Costs
from labkit.point import notes
from labkit.point.columns import statistic_column
from labkit.point.notes import Note
from labkit.point.spec import Spec
from labkit.point.units import plural
from labkit.read import records
from labkit.read.records import headline_statistic
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT

if TYPE_CHECKING:
    import pandas as pd


def work_of(spec: Spec) -> Spec:
    """Return the spec without the launcher: the same work for all launchers and forms of writing a testbed."""
    point = benchmarks.identity(benchmarks.resolve(spec))
    ranks = 1 if benchmarks.get(spec.benchmark).single else point.ranks
    where = testbeds.text_of(*testbeds.parse(point.testbed))
    return point.replace(launcher="any", ranks=ranks, testbed=where)


class Results:
    """Tables of a lab.

    Parameters
    ----------
    campaigns : samples of each; of a point that several hold, the launches of the first count.
    specs : specs of the lab; other samples are left out.
    seed : seed of a learner, which chooses some launches of each point; empty takes all.
    known : what the hosts cost without a network, if that was measured, for bounds in figures.

    Raises
    ------
    DataError
        If there is no sample of any of them.
    """

    def __init__(
        self,
        campaigns: Iterable[Iterable[Samples]],
        specs: Iterable[Spec],
        seed: str = "",
        known: Mapping[str, Costs] = MappingProxyType({}),
    ) -> None:
        self.costs = known
        wanted = {work_of(spec) for spec in specs}
        points: dict[Any, dict[int, Samples]] = {}
        for campaign in campaigns:
            own: dict[Any, dict[int, Samples]] = {}
            for sample in campaign:
                if (work := work_of(sample.spec)) in wanted:
                    own.setdefault(FINGERPRINT.of(sample.meta) or work, {})[sample.launch] = sample
            points = own | points
        self.samples = [sample for launches in points.values() for sample in chosen(launches, seed)]
        if not self.samples:
            raise DataError("The campaign has no point of this lab. Measure, or set source='recorded'.")

    def bounded(self, thing: Any) -> Any:
        """Return what a lab shows; a figure gets the known bounds of its benchmarks."""
        thing = thing.plot if isinstance(thing, Figure) else thing
        if not hasattr(thing, "to_plotly_json"):
            return thing
        shown = (thing.layout.meta or {}).get("benchmarks", ())
        rows = self.summary[self.summary["benchmark"].isin(shown)]
        return figures.with_bounds(thing, rows, self.samples, lambda: self.costs)

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row for each point and launch."""
        return records.table(self.samples)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row for each point, over its launches."""
        return records.summary(self.records)

    @cached_property
    def reported(self) -> pd.DataFrame:
        """Values that tools gave, one in a row."""
        return records.reported(self.samples)

    def rows(self, benchmark: str, **where: Any) -> pd.DataFrame:
        """Return the rows of the summary of a benchmark, by size.

        Parameters
        ----------
        where : columns and what they must be; `size` is short for message_size_B.

        Raises
        ------
        DataError
            If there are none.
        """
        return _chosen(self.summary, benchmark, where).sort_values("message_size_B")

    def curve(self, benchmark: str, metric: str, **where: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sizes, B, and medians over launches of a metric."""
        rows = self.rows(benchmark, **where)
        column = statistic_column(metric, headline_statistic(rows, metric))
        return rows["message_size_B"].to_numpy(np.float64), rows[column].to_numpy(np.float64)

    def median(self, benchmark: str, metric: str, **where: Any) -> float:
        """Return the median over launches of a metric of one point.

        Raises
        ------
        DataError
            If not exactly one point is meant.
        """
        values = self.curve(benchmark, metric, **where)[1]
        if len(values) != 1:
            raise DataError(
                f"{where} selects {plural(len(values), 'point')} of {benchmark}, but must select 1. Add conditions."
            )
        return float(values[0])

    def launches(self, benchmark: str, metric: str, **where: Any) -> NDArray[np.float64]:
        """Return a metric of one point in each launch, in the order of the launches."""
        rows = _chosen(self.records, benchmark, where).sort_values("launch")
        if (count := rows["fingerprint"].nunique()) != 1:
            raise DataError(
                f"{where} selects {plural(count, 'point')} of {benchmark}, but must select 1. Add conditions."
            )
        values: NDArray[np.float64] = rows[statistic_column(metric, headline_statistic(rows, metric))].to_numpy(
            np.float64
        )
        return values

    def curves(
        self, benchmark: str, metric: str, **where: Any
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return sizes, B, and values of a metric, for each launch."""
        rows = _chosen(self.records, benchmark, where).sort_values("message_size_B")
        column = statistic_column(metric, headline_statistic(rows, metric))
        return [
            (launch["message_size_B"].to_numpy(np.float64), launch[column].to_numpy(np.float64))
            for _, launch in rows.groupby("launch")
        ]

    def value(self, benchmark: str, metric: str, **where: Any) -> Expected:
        """Return a metric of one point, with its interval over launches."""
        return aggregate(self.launches(benchmark, metric, **where))

    def combined(self, of: Callable[..., float], *points: tuple[str, str, dict[str, Any]]) -> Expected:
        """Compute a number from several points, launch by launch.

        Parameters
        ----------
        of : takes the value of each point.
        points : benchmark, metric, and what its columns must be.
        """
        series = [self.launches(benchmark, metric, **where) for benchmark, metric, where in points]
        least = min(map(len, series))
        medians = [float(np.median(values)) for values in series]
        by_launch = zip(*(values[:least] for values in series), strict=True)
        return aggregate([of(*values) for values in by_launch], [of(*medians)])

    def badges(self) -> tuple[Note, ...]:
        """Return the badges of all points, each once."""
        return notes.once(self.summary["badges"])


def chosen(launches: Mapping[int, Samples], seed: str) -> list[Samples]:
    """Return the launches of a point that a seed chooses: two thirds of them, and at least two; all without a seed.

    Points with equally many launches get the same ones, so that values still combine launch by launch.
    """
    numbers = sorted(launches)
    if seed:
        numbers = sorted(
            random.Random(seed).sample(numbers, max(math.ceil(2 * len(numbers) / 3), min(2, len(numbers))))
        )
    return [launches[number] for number in numbers]


def read(campaigns: Iterable[Path], specs: Sequence[Spec], seed: str = "") -> Results:
    """Read the samples of a lab's points from campaigns.

    Parameters
    ----------
    seed : seed of `Results`.

    Raises
    ------
    DataError
        If there is no sample of any of them.
    """
    names, found = sorted({spec.benchmark for spec in specs}), [Campaign(path) for path in campaigns]
    known = {host: one for campaign in found for host, one in costs.read(campaign).items()}
    return Results([chain.from_iterable(map(campaign.samples, names)) for campaign in found], specs, seed, known)


def _chosen(table: pd.DataFrame, benchmark: str, where: dict[str, Any]) -> pd.DataFrame:
    """Return the rows of a benchmark whose columns have the values of `where`."""
    kept = table["benchmark"] == benchmark
    for name, value in where.items():
        column = "message_size_B" if name == "size" else name
        if column not in table and column.startswith(("option_", "env_")):
            kept &= value is None
        else:
            kept &= table[column].isna() if value is None else table[column] == value
    rows = table[kept]
    if rows.empty:
        raise DataError(
            f"There is no point of {benchmark} with {where or 'any options'}. Measure, or use the recorded data."
        )
    return rows
