"""The view of a plot, as data. A view draws the figure, and writes the Python code that draws the same figure."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from labkit import figures
from labkit.apps.explorer import relation
from labkit.errors import DataError
from labkit.figures import axes, looks, style
from labkit.figures.lines import HEADLINE, Line
from labkit.judge.comparison import Comparison
from labkit.models import bounds
from labkit.models.limits import METRICS_OF_LATENCY, Limit
from labkit.point.columns import COLUMNS, METRICS, SHOWN, STATISTICS, split, statistic_column
from labkit.point.units import OTHER_UNITS
from labkit.read import records
from labkit.read.records.factors import differing, level, named
from labkit.read.records.value import Value, values_in
from labkit.read.reference import Entry, comparing
from labkit.store import campaign

SIZE = "message_size_B"
HEIGHT = 430  # px of a figure
_PERCENTILES = ("p50", "p95", "p99", "p999")  # always offered, with a note if no point has them
_SERIES: deque[tuple[pd.DataFrame, str, list[str]]] = deque(maxlen=8)  # table, axis, columns of the lines
_LINES: deque[tuple[pd.DataFrame, object, list[Line]]] = deque(maxlen=4)  # rows, what is drawn of them, lines
_PARTS: deque[tuple[pd.DataFrame, object, list[looks.Part]]] = deque(maxlen=4)  # rows, what is drawn of them, lines
_BESIDE: deque[tuple[pd.DataFrame, str, list[Entry]]] = deque(maxlen=8)  # rows, metric, published numbers
_DRAWN = ("benchmark", "campaign", "origin", "fingerprint", "transport", "n", "headline", "unreliable", "left_out")
_DIFFERING: deque[tuple[pd.DataFrame, list[str]]] = deque(maxlen=8)  # table, columns in which its rows differ
_ROWS: deque[tuple[pd.DataFrame, object, pd.DataFrame]] = deque(maxlen=8)  # table, levels on show, their rows


@dataclass(frozen=True, kw_only=True)
class View:
    """One plot.

    Parameters
    ----------
    campaigns : names.
    benchmark : benchmark whose points are shown.
    metric, statistic : on the vertical axis; ``headline`` is the median, or its substitute, which the legend names.
    x : column to the right: ``message_size_B`` or another one of numbers.
    x_log, y_log : whether an axis is logarithmic; None for what suits it.
    published : whether published numbers are drawn beside the measured ones, against message size.
    bounds : whether what the path allows is drawn, against message size.
    unit : unit of `labkit.point.units.OTHER_UNITS`; empty for the metric's own.
    where : columns, each with its levels on show; a column that is not named shows all.
    by : column that comes first in the names and in the order of lines.
    relation : ``ratio`` or ``difference`` to `base`; empty for the values themselves.
    base : campaign, or level of a factor as in ``transport=shm``, that values are compared with.
    """

    campaigns: tuple[str, ...] = ()
    benchmark: str = ""
    metric: str = ""
    statistic: str = HEADLINE
    x: str = SIZE
    x_log: bool | None = None
    y_log: bool | None = None
    published: bool = False
    bounds: bool = False
    unit: str = ""
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    by: str = ""
    relation: Literal["", "ratio", "difference"] = ""
    base: str = ""

    def beside(self, summary: pd.DataFrame) -> list[Entry]:
        """Published numbers that fit: of the benchmark, metric and options on show, against message size."""
        rows = self.rows(summary)
        if rows.empty or self.x != SIZE or self.relation:
            return []
        known = next((found for table, metric, found in _BESIDE if table is rows and metric == self.metric), None)
        if known is None:
            known = comparing.beside(rows, self.metric)
            _BESIDE.append((rows, self.metric, known))
        return list(known)

    @property
    def bounded(self) -> bool:
        """Whether bounds are known for the shown points."""
        rates, times = bounds.directions_of(self.benchmark), bounds.crossings_of(self.benchmark)
        fits = (rates and self.metric == "bandwidth_MBps") or (times and self.metric in METRICS_OF_LATENCY)
        return bool(fits) and self.x == SIZE and not self.relation

    def rows(self, summary: pd.DataFrame) -> pd.DataFrame:
        """Rows of a table whose levels are on show, in the order of their groups; the same table for the same rows."""
        where = tuple((column, levels) for column, levels in self.where if column in summary)
        by = self.by if self.by in summary else ""
        if not where and not by:
            return summary
        key = (where, by, self.campaigns)
        known = next((rows for table, name, rows in _ROWS if table is summary and name == key), None)
        if known is None:
            known = summary
            for column, levels in where:
                known = known[known[column].map(level).isin(levels)]
            titled = self.titled if by == "campaign" else None
            known = known.sort_values(by, kind="stable", key=titled) if by else known
            _ROWS.append((summary, key, known))
        return known

    def series(self, summary: pd.DataFrame) -> list[str]:
        """Columns that distinguish the lines: the campaign if there are several, then settings that vary."""
        known = next((columns for table, x, columns in _SERIES if table is summary and x == self.x), None)
        if known is None:
            known = self._series(summary)
            _SERIES.append((summary, self.x, known))
        first = [self.by] if self.by in summary and self.by != self.x else []
        return [*first, *(name for name in known if name not in first)]

    def _series(self, summary: pd.DataFrame) -> list[str]:
        several = ["campaign"] if summary["campaign"].nunique() > 1 else []
        parts = [rows for _, rows in summary.groupby("campaign", sort=False)] if several else [summary]
        columns = [name for rows in parts for name in style.varying(rows, skip=[self.x, "campaign"])]
        series = several + list(dict.fromkeys(columns))
        place = [summary[name].map(level) for name in dict.fromkeys([*series, "origin", self.x])]
        if summary.groupby(place).size().max() > 1:  # rarely named columns, last the fingerprint
            series += [name for name in differing(summary, skip=[self.x, "origin"]) if name not in series]
        return series

    def figure(
        self,
        summary: pd.DataFrame,
        *,
        limits: Sequence[Limit] = (),
        compared: Comparison | None = None,
        hover: bool = True,
    ) -> go.Figure:
        """Draw it.

        Parameters
        ----------
        limits : limits of `labkit.models.limits.limit_curves`, drawn if the view has bounds.
        compared : with the base, drawn if the view has a relation.
        hover : False where somebody else says what a point is.

        Raises
        ------
        DataError
            If there is nothing to draw.
        """
        rows = self.rows(summary)
        if rows.empty:
            kept = "The filter leaves no points. Relax it." if len(summary) else ""
            raise DataError(
                kept or "The selected campaigns have no points of this benchmark. Measure, or select other campaigns."
            )
        drawn = rows.assign(campaign=self.titled(rows["campaign"])) if hover else self._narrow(summary, rows)
        if self.relation and compared is not None:
            figure = figures.shifts(compared, self.benchmark, difference=self.relation == "difference")
        elif self.x == SIZE:
            figure = figures.versus_size(
                drawn,
                self.metric,
                series=self.series(rows),
                statistic=self.statistic,
                tail=None,
                hover=hover,
                drawn=None if hover else self.split(summary),
            )
        else:
            figure = figures.versus(drawn, self.x, self.shown(), series=self.series(rows), hover=hover)
        if self.published and (beside := self.beside(summary)):
            figure = figures.overlay(figure, beside)
        if self.bounds and self.bounded and limits:
            figure = figures.bounded(figure, limits)
        if self.relation != "ratio":
            figure = figures.in_unit(figure, self.metric, self.unit)
        axes = {name: kind for name, kind in self.axes().items() if not self.relation or name == "xaxis_type"}
        figure.update_layout(**axes, width=None, height=HEIGHT)
        return figure

    def shown(self) -> str | dict[str, str]:
        """Argument of `figures.versus`: the metric for its headline, or the statistic that was chosen."""
        column = statistic_column(self.metric, self.statistic)
        return self.metric if self.statistic == HEADLINE else {METRICS[self.metric].label: column}

    def axes(self) -> dict[str, str | None]:
        """Kinds of axes that were chosen, as plotly's layout names them; steps of a logarithm fit no linear axis."""
        chosen = {"xaxis_type": self.x_log, "yaxis_type": self.y_log}
        kinds: dict[str, str | None] = {
            name: "log" if on else "linear" for name, on in chosen.items() if on is not None
        }
        return kinds | ({"yaxis_dtick": None} if self.y_log is False else {})

    def split(self, summary: pd.DataFrame) -> list[Line]:
        """The lines of the figure, each with its rows along the axis; of their columns those that are drawn."""
        rows = self.rows(summary)
        key = (self.campaigns, self.x, self.metric, self.statistic, self.by)
        known = next((lines for table, name, lines in _LINES if table is rows and name == key), None)
        if known is None:
            known = figures.lines.make_lines(self._parts(summary, rows), self.metric, self.statistic)
            _LINES.append((rows, key, known))
        return known

    def _parts(self, summary: pd.DataFrame, rows: pd.DataFrame) -> list[looks.Part]:
        """The lines' rows along the axis, with names and origins; the same ones for every statistic of a metric."""
        key = (self.campaigns, self.x, self.metric, self.by)
        known = next((parts for table, name, parts in _PARTS if table is rows and name == key), None)
        if known is None:
            narrow = self._narrow(summary, rows).sort_values(self.x, kind="stable")
            known = style.split(narrow, self.series(rows))
            _PARTS.append((rows, key, known))
        return known

    def _narrow(self, summary: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with the columns of the metric and those that distinguish lines: others are slow to process."""
        kept = {*_DRAWN, self.x, *self.series(rows), *differing_columns(summary)}
        narrow = rows.loc[:, [name for name in rows if name in kept or name.startswith(f"{self.metric}_")]]
        return narrow.assign(campaign=self.titled(rows["campaign"]))

    def titled(self, names: pd.Series) -> pd.Series:
        """Titles of the campaigns that a column names."""
        return names.map(campaign.titles([*self.campaigns, *names.unique()]))

    def row(self, summary: pd.DataFrame, name: str, x: float) -> pd.Series:
        """Row of the summary behind a point of the figure, by the name of its line and its place.

        Raises
        ------
        DataError
            If there is none.
        """
        for line in self.split(summary):
            if line.name == name:
                return summary.loc[line.rows.index[int((line.rows[self.x] - x).abs().argmin())]]
        raise DataError(f"This plot has no series {name!r}. Draw it again.")

    def value(self, row: Mapping[str, Any], statistic: str = "") -> Value:
        """A statistic of a row in the view's unit; without a name, the one that is drawn."""
        name = statistic or ("" if self.statistic == HEADLINE else self.statistic)
        return records.value_of(row, self.metric, name).in_unit(self.unit)

    def values(self, rows: pd.DataFrame, statistic: str = "") -> list[Value]:
        """`value` of each row of a table, at once."""
        name = statistic or ("" if self.statistic == HEADLINE else self.statistic)
        return [one.in_unit(self.unit) for one in values_in(rows, self.metric, name)]

    def place(self, summary: pd.DataFrame, row: Mapping[str, Any]) -> tuple[float, float] | None:
        """Place of a point in the figure; None if the figure does not have it."""
        rows = self.rows(summary)
        same = (rows["fingerprint"] == row["fingerprint"]) & (rows["campaign"] == row["campaign"])
        if self.relation or not same.any():
            return None
        found = rows[same].iloc[0].to_dict()
        x, y = float(found[self.x]), self.value(found).value
        if self.x == SIZE:
            positive = rows.loc[rows[SIZE] > 0, SIZE]
            x = axes.place(x, float(positive.min()) if len(positive) else 1.0)
        return (x, y) if not math.isnan(y) and not math.isnan(x) else None


def metrics_of(summary: pd.DataFrame) -> list[str]:
    """Metrics that occur in a table, in its order."""
    metrics = [parts[0] for name in summary if (parts := split(name)) and summary[name].notna().any()]
    return list(dict.fromkeys(metrics))


def statistics_of(summary: pd.DataFrame, metric: str) -> list[str]:
    """Statistics that a metric has in a table; the headline first, if it is not the same statistic at every point."""
    present = [name for name in SHOWN if records.has(summary, metric, name)]
    leads = {*records.statistics_of(summary, metric).tolist()} - {""}
    return [HEADLINE, *present] if len(leads) > 1 else present


def statistics_offered(summary: pd.DataFrame, metric: str, chosen: str) -> list[tuple[str, str]]:
    """Label and name of each statistic for a list; percentiles without any point come last, with a remark."""
    present = statistics_of(summary, metric)
    absent = [name for name in SHOWN if name not in present and (name in _PERCENTILES or name == chosen)]
    return [(statistic_words(name), name) for name in present] + [
        (f"{statistic_words(name)} (none here)", name) for name in absent
    ]


def statistic_words(statistic: str) -> str:
    """A statistic for a list."""
    return "median, or the only statistic of its source" if statistic == HEADLINE else STATISTICS[statistic].label


def replaced(before: View, now: View) -> str:
    """Return a sentence if the statistic shown is not the one chosen; else an empty string."""
    if before.statistic in (HEADLINE, now.statistic) or not now.metric or now.relation:
        return ""
    absent, shown = (statistic_words(one) for one in (before.statistic, now.statistic))
    return f"no point has the statistic {absent}; shown is: {shown}"


def axes_of(summary: pd.DataFrame) -> list[str]:
    """Columns of numbers for the horizontal axis: the size, and others with several values."""
    usual = [SIZE, "ranks", "ppn", *(c for c in summary if c.startswith(("option_", "env_")))]
    return [c for c in usual if c == SIZE or (c in summary and _counts(summary[c]) and summary[c].nunique() > 1)]


def differing_columns(summary: pd.DataFrame) -> list[str]:
    """Columns other than the size in which the points differ, to group and filter lines by."""
    known = next((names for table, names in _DIFFERING if table is summary), None)
    if known is None:
        known = [name for name in differing(summary) if name != "fingerprint"]
        _DIFFERING.append((summary, known))
    return list(known)


def _counts(column: pd.Series) -> bool:
    """Whether a column holds numbers."""
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


def usual(campaigns: Sequence[str], benchmark: str, summary: pd.DataFrame, before: View) -> View:
    """Apply a view to other data; choices that these data do not have are replaced."""
    metrics = metrics_of(summary)
    metric = before.metric if before.metric in metrics else next(iter(metrics), "")
    statistics = statistics_of(summary, metric) if metric else []
    statistic = before.statistic  # a point without it leaves a gap with a reason; an empty plot would explain nothing
    if statistics and statistic not in statistics:
        statistic = statistics[0]
    x = before.x if before.x in axes_of(summary) else SIZE
    columns = differing_columns(summary)
    bases = relation.bases(summary, columns)
    base = before.base if before.base in bases else next(iter(bases), "")
    return dataclasses.replace(
        before,
        campaigns=tuple(campaigns),
        benchmark=benchmark,
        metric=metric,
        statistic=statistic,
        x=x,
        unit=before.unit if metric and before.unit in OTHER_UNITS.get(METRICS[metric].unit, ()) else "",
        where=tuple((name, levels) for name, levels in before.where if name in columns),
        by=before.by if before.by in columns else "",
        relation=before.relation if base else "",
        base=base,
    )


def words(name: str) -> str:
    """Name of a column in words, for a list."""
    if name.startswith("env_"):
        return named(name)
    return (COLUMNS[name].name.replace("_B", " (B)") if name in COLUMNS else named(name)).replace("_", " ")


def first(names: Sequence[str]) -> str:
    """Benchmark to begin with: latency if it is present."""
    return "mpi.latency" if "mpi.latency" in names else next(iter(names), "")
