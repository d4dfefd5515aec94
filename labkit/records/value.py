"""One statistic of a row as people read it, with its interval, label and digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit import stats
from labkit.columns import METRICS, SHOWN, STATISTICS, end_column, statistic_column
from labkit.records.aggregate import statistic_of
from labkit.records.resolution import coarse, sign
from labkit.units import format_number, format_range, plural

_EXACT = ("p50", "p95", "p99", "p999", "min", "max")  # times that occurred: they stand on the clock's steps


@dataclass(frozen=True)
class Value:
    """One statistic of a row.

    Parameters
    ----------
    metric, statistic : which.
    value : in the metric's unit; NaN where the row has none.
    low, high : ends of its own interval over launches; NaN where there is none.
    label : what the ends are, such as ``range of 3 launches``.
    step : smallest difference that the clock resolves; NaN where it is not known.
    coarse : whether the time behind the value spans fewer than ten steps of the clock: then it is a bound.
    """

    metric: str
    statistic: str
    value: float
    low: float = math.nan
    high: float = math.nan
    label: str = ""
    step: float = math.nan
    coarse: bool = False

    @property
    def unit(self) -> str:
        """Unit of all its numbers."""
        return METRICS[self.metric].unit

    @property
    def words(self) -> str:
        """Name of the statistic."""
        return STATISTICS[self.statistic].label if self.statistic else ""

    @property
    def text(self) -> str:
        """Value without its unit, with ``≥`` or ``≤`` where it is a bound."""
        if not self.coarse:
            return self._shown(self.value)
        return sign(self.unit) + self._shown(self.value or self.step)

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends, without unit."""
        return self._shown(self.low), self._shown(self.high)

    @property
    def range(self) -> str:
        """``9.98 to 10.02``; a dash where there is no interval."""
        return format_range(self.low, self.high, step=self.step)

    def _shown(self, value: float) -> str:
        return format_number(value, width=self.high - self.low, step=self.step)


def value_of(row: Mapping[str, Any], metric: str, statistic: str = "") -> Value:
    """Return a statistic of a row; without a name, the one that stands for the metric.

    Parameters
    ----------
    row : of `records.summary` or `records.table`.
    metric, statistic : as in `labkit.columns`; the statistic is never replaced by another.
    """
    headline = statistic_of(row, metric)
    name = statistic or headline
    if not name:
        return Value(metric, "", math.nan)
    ends = [row.get(end_column(metric, name, end)) for end in ("low", "high")]
    if None in ends and name == headline:  # a table made by hand has the headline's only
        ends = [row.get(statistic_column(metric, end)) for end in ("low", "high")]
    low, high = (math.nan if end is None else float(end) for end in ends)
    bound = coarse(row, metric, name)
    step = float(row.get(statistic_column(metric, "step"), math.nan)) if name in _EXACT or bound else math.nan
    if bound:  # an interval of bounds encloses nothing
        low = high = math.nan
    value = float(row.get(statistic_column(metric, name), math.nan))
    return Value(metric, name, value, low, high, str(row.get("headline", "")), step, bound)


def why_not(row: Mapping[str, Any], metric: str, statistic: str) -> str:
    """Return in a few words why a row does not have a statistic."""
    column = statistic_column(metric, statistic)
    for note in row.get("left_out", ()):
        if note.value("column") == column:
            return f"only {note.value('have')} of {note.value('launches')} launches have it"
    available = [STATISTICS[s].label for s in SHOWN if (v := row.get(statistic_column(metric, s), math.nan)) == v]
    if not available:
        return f"{METRICS[metric].label} was not measured"
    n, needed = int(row.get("n", 0)), stats.NEEDED.get(statistic, 0)
    if not n:
        return f"its source gives only {', '.join(available)}"
    if row.get("timing") == "total":
        return "one time for the whole loop gives only a mean"
    launches = int(row.get("launches", 1))
    if needed and "p50" in (s for s in SHOWN if row.get(statistic_column(metric, s)) is not None):
        return f"it needs {plural(needed, 'sample')} in each launch, n = {n:,} in {plural(launches, 'launch')}"
    return f"the benchmark gives only {', '.join(available)}"
