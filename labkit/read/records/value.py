"""One statistic of a row as people read it, with its interval, label and digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from labkit import stats
from labkit.point.columns import ENDS, METRICS, SHOWN, STATISTICS, end_column, statistic_column
from labkit.point.units import MOST_MB, factor, format_number, format_range, plural
from labkit.read.records.resolution import Columns, coarse_of, columns, headlines_of, numbers, of_row, sign

_EXACT = ("p50", "p95", "p99", "p999", "min", "max")  # times that occurred: they stand on the clock's steps


@dataclass(frozen=True)
class Value:
    """One statistic of a row.

    Parameters
    ----------
    metric, statistic : which.
    value : in the metric's unit; NaN if the row has none.
    low, high : ends of its own interval over launches; NaN without one.
    label : what the ends are, such as ``range of 3 launches``.
    step : smallest difference that the clock resolves; NaN if unknown.
    coarse : whether the time behind the value spans fewer than ten steps of the clock: then it is a bound.
    told : unit of its numbers; empty for that of the metric.
    """

    metric: str
    statistic: str
    value: float
    low: float = math.nan
    high: float = math.nan
    label: str = ""
    step: float = math.nan
    coarse: bool = False

    told: str = ""

    @property
    def unit(self) -> str:
        """Unit of all its numbers."""
        return self.told or METRICS[self.metric].unit

    def in_unit(self, unit: str) -> Value:
        """Return it in another unit of its metric, in the same digits.

        Raises
        ------
        SpecError
            If the metric is not told in that unit.
        """
        times = factor(METRICS[self.metric].unit, unit) / factor(METRICS[self.metric].unit, self.told)
        scaled = {name: getattr(self, name) * times for name in ("value", "low", "high", "step")}
        return replace(self, told=unit, **scaled)

    def readable(self) -> Value:
        """Return it in GB/s if it exceeds 9,999 MB/s, else as it is."""
        return self.in_unit("GB/s") if self.unit == "MB/s" and self.value > MOST_MB else self

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
        """``9.98 to 10.02``; a dash without an interval."""
        return format_range(self.low, self.high, step=self.step)

    def _shown(self, value: float) -> str:
        return format_number(value, width=self.high - self.low, step=self.step)


def value_of(row: Mapping[Any, Any], metric: str, statistic: str = "") -> Value:
    """Return a statistic of a row; without a name, the one that represents the metric.

    Parameters
    ----------
    row : row of `records.summary` or `records.table`.
    metric, statistic : as in `labkit.point.columns`; the statistic is never replaced by another.
    """
    return _values(of_row(row, metric), metric, statistic)[0]


def values_in(rows: pd.DataFrame, metric: str, statistic: str = "") -> list[Value]:
    """`value_of` each row of a table, at once."""
    return _values(columns(rows, metric), metric, statistic)


def _values(table: Columns, metric: str, statistic: str) -> list[Value]:
    """Return a statistic of each row of some columns."""
    headlines, value = headlines_of(table, metric)
    names = headlines
    if statistic:
        names, value = np.full(len(value), statistic, object), numbers(table, metric, statistic)
    bound = coarse_of(table, metric, statistic)
    step = np.where(np.isin(names, _EXACT) | bound, numbers(table, metric, "step"), math.nan)
    low, high = (np.full(len(value), math.nan) for _ in ENDS)
    for name in dict.fromkeys(names.tolist()):
        for column, end in ((low, "low"), (high, "high")):
            here = names == name
            whole = all(end_column(metric, name, each) in table for each in ENDS)
            column[here] = numbers(table, metric, f"{name}_{end}")[here]
            if not whole:  # a table made by hand has the headline's only
                here &= headlines == name
                column[here] = numbers(table, metric, end)[here]
    low[bound] = high[bound] = math.nan  # an interval of bounds encloses nothing
    labels = table["headline"].tolist() if "headline" in table else [""] * len(value)
    cells = (column.tolist() for column in (names, value, low, high))
    rows = zip(*cells, map(str, labels), step.tolist(), bound.tolist(), strict=True)
    return [Value(metric, *row) if row[0] else Value(metric, "", math.nan) for row in rows]


def why_not(row: Mapping[Any, Any], metric: str, statistic: str) -> str:
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


def reasons(rows: pd.DataFrame, metric: str, statistic: str) -> list[str]:
    """Return what `why_not` says of the rows of a table, each reason once and without numbers of samples."""
    if rows.empty:
        return []
    shown = [name for s in SHOWN if (name := statistic_column(metric, s)) in rows]
    facts = {name: rows[name].notna() for name in shown} | {name: rows[name] for name in ("timing",) if name in rows}
    facts |= {"n": rows["n"] > 0} if "n" in rows else {}
    facts |= {"left_out": rows["left_out"]} if "left_out" in rows else {}
    distinct = rows[~pd.DataFrame(facts, index=rows.index).duplicated()]
    found = (why_not(row, metric, statistic).partition(", n = ")[0] for row in distinct.to_dict("records"))
    return list(dict.fromkeys(found))
