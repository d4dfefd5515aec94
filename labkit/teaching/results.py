"""What a lab's questions and figures are worked out from: the samples of its own points, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, notes, records, testbeds
from labkit.columns import statistic_column
from labkit.errors import DataError
from labkit.notes import Note
from labkit.records import headline_statistic
from labkit.samples import Samples
from labkit.samples.facts import FINGERPRINT
from labkit.spec import Spec
from labkit.teaching.expected import Expected, aggregate

if TYPE_CHECKING:
    import pandas as pd


def work_of(spec: Spec) -> Spec:
    """What a point measures, wherever and by whichever launcher it was started."""
    found = benchmarks.identity(benchmarks.resolve(spec))
    ranks = 1 if benchmarks.get(spec.benchmark).single else found.ranks
    where = testbeds.text_of(*testbeds.parse(found.testbed))
    return found.replace(launcher="any", ranks=ranks, testbed=where)


class Results:
    """Tables of a lab.

    Parameters
    ----------
    samples : from any campaigns; of a launch that several hold, the first counts.
    specs : of the lab; other samples are left out.

    Raises
    ------
    DataError
        If there is no sample of any of them.
    """

    def __init__(self, samples: Iterable[Samples], specs: Iterable[Spec]) -> None:
        wanted = {work_of(spec) for spec in specs}
        held: dict[tuple[Any, int], Samples] = {}
        for one in samples:
            if (work := work_of(one.spec)) in wanted:
                held.setdefault((FINGERPRINT.of(one.meta) or work, one.launch), one)
        self.samples = list(held.values())
        if not self.samples:
            raise DataError("The campaign has no point of this lab. Measure, or set source='recorded'.")

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
        """Rows of the summary of a benchmark, by size.

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
        """Sizes, B, and medians over launches of a metric."""
        rows = self.rows(benchmark, **where)
        column = statistic_column(metric, headline_statistic(rows, metric))
        return rows["message_size_B"].to_numpy(np.float64), rows[column].to_numpy(np.float64)

    def median(self, benchmark: str, metric: str, **where: Any) -> float:
        """Median over launches of a metric of one point.

        Raises
        ------
        DataError
            If not exactly one point is meant.
        """
        found = self.curve(benchmark, metric, **where)[1]
        if len(found) != 1:
            raise DataError(f"{len(found)} points of {benchmark} fit {where}, but exactly 1 must. Add conditions.")
        return float(found[0])

    def launches(self, benchmark: str, metric: str, **where: Any) -> NDArray[np.float64]:
        """A metric of one point in each launch, in the order of the launches."""
        rows = _chosen(self.records, benchmark, where).sort_values("launch")
        if rows["fingerprint"].nunique() != 1:
            raise DataError(f"{rows['fingerprint'].nunique()} points of {benchmark} fit {where}, but it must be 1.")
        found: NDArray[np.float64] = rows[statistic_column(metric, headline_statistic(rows, metric))].to_numpy(
            np.float64
        )
        return found

    def curves(
        self, benchmark: str, metric: str, **where: Any
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Sizes, B, and values of a metric, for each launch."""
        rows = _chosen(self.records, benchmark, where).sort_values("message_size_B")
        column = statistic_column(metric, headline_statistic(rows, metric))
        return [
            (one["message_size_B"].to_numpy(np.float64), one[column].to_numpy(np.float64))
            for _, one in rows.groupby("launch")
        ]

    def value(self, benchmark: str, metric: str, **where: Any) -> Expected:
        """A metric of one point, with its interval over launches."""
        return aggregate(self.launches(benchmark, metric, **where))

    def combined(self, of: Callable[..., float], *points: tuple[str, str, dict[str, Any]]) -> Expected:
        """A number from several points, worked out launch by launch.

        Parameters
        ----------
        of : takes the value of each point.
        points : benchmark, metric, and what its columns must be.
        """
        held = [self.launches(benchmark, metric, **where) for benchmark, metric, where in points]
        least = min(map(len, held))
        medians = [float(np.median(one)) for one in held]
        return aggregate([of(*values) for values in zip(*(one[:least] for one in held), strict=True)], [of(*medians)])

    def badges(self) -> tuple[Note, ...]:
        """What the numbers must carry, each once."""
        return notes.once(self.summary["badges"])


def _chosen(table: pd.DataFrame, benchmark: str, where: dict[str, Any]) -> pd.DataFrame:
    """Rows of a benchmark whose columns have some values."""
    rows = table[table["benchmark"] == benchmark]
    for name, value in where.items():
        column = "message_size_B" if name == "size" else name
        if column not in rows and column.startswith(("option_", "env_")):
            rows = rows if value is None else rows.iloc[:0]
            continue
        rows = rows[rows[column].isna()] if value is None else rows[rows[column] == value]
    if rows.empty:
        raise DataError(
            f"There is no point of {benchmark} with {where or 'any options'}. Measure, or use the recorded data."
        )
    return rows


def nearest(sizes: Sequence[float], wanted: float) -> float:
    """The one of some sizes that is nearest, as a ratio, to what is wanted, B."""
    return min(sizes, key=lambda size: abs(np.log(size / wanted)) if size else np.inf)
