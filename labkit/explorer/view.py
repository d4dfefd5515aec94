"""What a plot shows, as data. A view draws the figure, and writes the Python code that draws the same figure."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from labkit import figures, records, reference
from labkit.columns import COLUMNS, METRICS, SHOWN, STATISTICS, split, statistic_column
from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.lines import HEADLINE
from labkit.records.factors import differing, level

SIZE = "message_size_B"
HEIGHT = 430  # px
_PERCENTILES = ("p50", "p95", "p99", "p999")  # always offered, with a note if no point has them
_SERIES: deque[tuple[pd.DataFrame, str, list[str]]] = deque(maxlen=8)  # table, axis, columns of the lines


@dataclass(frozen=True, kw_only=True)
class View:
    """One plot.

    Parameters
    ----------
    campaigns : names.
    benchmark : of which points are shown.
    metric, statistic : what is drawn upward; ``headline`` is the median, or what stands for it, named in the legend.
    x : column to the right: ``message_size_B`` or another one of numbers.
    x_log, y_log : whether an axis is logarithmic; None for what suits it.
    published : whether published numbers are drawn beside the measured ones, against message size.
    """

    campaigns: tuple[str, ...] = ()
    benchmark: str = ""
    metric: str = ""
    statistic: str = HEADLINE
    x: str = SIZE
    x_log: bool | None = None
    y_log: bool | None = None
    published: bool = False

    @property
    def beside(self) -> list[reference.Entry]:
        """Published numbers that fit: of the benchmark and metric, against message size."""
        return reference.matching([self.benchmark], self.metric) if self.x == SIZE else []

    def series(self, summary: pd.DataFrame) -> list[str]:
        """Columns that distinguish the lines: the campaign if there are several, then settings that vary."""
        known = next((columns for table, x, columns in _SERIES if table is summary and x == self.x), None)
        if known is None:
            known = self._series(summary)
            _SERIES.append((summary, self.x, known))
        return list(known)

    def _series(self, summary: pd.DataFrame) -> list[str]:
        several = ["campaign"] if summary["campaign"].nunique() > 1 else []
        parts = [rows for _, rows in summary.groupby("campaign", sort=False)] if several else [summary]
        columns = [name for rows in parts for name in style.varying(rows, skip=[self.x, "campaign"])]
        series = several + list(dict.fromkeys(columns))
        place = [summary[name].map(level) for name in dict.fromkeys([*series, "origin", self.x])]
        if summary.groupby(place).size().max() > 1:  # rarely named columns, last the fingerprint
            series += [name for name in differing(summary, skip=[self.x, "origin"]) if name not in series]
        return series

    def figure(self, summary: pd.DataFrame) -> go.Figure:
        """Draw it.

        Raises
        ------
        DataError
            If there is nothing to draw.
        """
        if summary.empty:
            raise DataError(
                "The selected campaigns have no points of this benchmark. Measure, or select other campaigns."
            )
        series = self.series(summary)
        if self.x == SIZE:
            figure = figures.versus_size(summary, self.metric, series=series, statistic=self.statistic, tail=None)
        else:
            figure = figures.versus(summary, self.x, self._shown(), series=series)
        if self.published and self.beside:
            figure = figures.overlay(figure, self.beside)
        figure.update_layout(**self.axes(), width=None, height=HEIGHT)
        return figure

    def _shown(self) -> str | dict[str, str]:
        """Argument of `figures.versus`: the metric for its headline, or the statistic that was chosen."""
        column = statistic_column(self.metric, self.statistic)
        return self.metric if self.statistic == HEADLINE else {METRICS[self.metric].label: column}

    def axes(self) -> dict[str, str]:
        """Kinds of axes that were chosen, as plotly's layout names them."""
        chosen = {"xaxis_type": self.x_log, "yaxis_type": self.y_log}
        return {name: "log" if log else "linear" for name, log in chosen.items() if log is not None}

    def row(self, summary: pd.DataFrame, name: str, x: float) -> pd.Series:
        """Row of the summary behind a point of the figure, by the name of its line and its place.

        Raises
        ------
        DataError
            If there is none.
        """
        parts = style.split(summary.sort_values(self.x, kind="stable"), self.series(summary))
        for line in figures.lines.of(parts, self.metric, self.statistic):
            if line.name == name:
                return line.rows.iloc[int((line.rows[self.x] - x).abs().argmin())]
        raise DataError(f"This plot has no series {name!r}. Draw it again.")

    def lines(self, summary: pd.DataFrame) -> str:
        """Python code that draws the same figure in another notebook."""
        names = ", ".join(map(repr, self.campaigns))
        series = self.series(summary)
        if self.x == SIZE:
            draw = f"versus_size(summary, {self.metric!r}, series={series!r}, statistic={self.statistic!r}, tail=None)"
        else:
            draw = f"versus(summary, {self.x!r}, {self._shown()!r}, series={series!r})"
        slots = {
            one.series: one.slot for one in looks.of(style.split(summary, series)) if one.series not in looks.FIXED
        }
        beside, more = "", ""
        if self.published and self.beside:
            metas = [trace.meta for trace in self.figure(summary).data]
            slots |= {meta["series"]: meta["look"] for meta in metas if "overlay" in meta}
            numbers = f"reference.matching([{self.benchmark!r}], {self.metric!r})"
            beside, more = f"figure = figures.overlay(figure, {numbers})\n", ", reference"
        keep = f"figures.keep({slots!r})  # colours and markers\n" if slots else ""
        axes = "".join(f"{name}={kind!r}, " for name, kind in self.axes().items())
        return f"""import pandas as pd
from labkit import campaign, figures, records{more}

tables = []
for name in [{names}]:
    folder = campaign.Campaign(campaign.find(name))
    tables.append(records.table(folder.samples({self.benchmark!r}), campaign=name))
summary = records.summary(pd.concat([table for table in tables if len(table)], ignore_index=True))
{keep}figure = figures.{draw}
{beside}figure.update_layout({axes}width=None, height={HEIGHT})
figure
"""


def metrics_of(summary: pd.DataFrame) -> list[str]:
    """Metrics that occur in a table, in its order."""
    metrics = [parts[0] for name in summary if (parts := split(name)) and summary[name].notna().any()]
    return list(dict.fromkeys(metrics))


def statistics_of(summary: pd.DataFrame, metric: str) -> list[str]:
    """Statistics that a metric has in a table; the headline first, if it is not the same statistic at every point."""
    present = [name for name in SHOWN if (c := statistic_column(metric, name)) in summary and summary[c].notna().any()]
    leads = {lead for row in summary.to_dict("records") if (lead := records.statistic_of(row, metric))}
    return [HEADLINE, *present] if len(leads) > 1 else present


def statistics_offered(summary: pd.DataFrame, metric: str, chosen: str) -> list[tuple[str, str]]:
    """Words and name of each statistic for a list; percentiles that no point has come last, and say so."""
    present = statistics_of(summary, metric)
    absent = [name for name in SHOWN if name not in present and (name in _PERCENTILES or name == chosen)]
    return [(statistic_words(name), name) for name in present] + [
        (f"{statistic_words(name)} (none here)", name) for name in absent
    ]


def statistic_words(statistic: str) -> str:
    """A statistic for a list."""
    return "median, or the only statistic of its source" if statistic == HEADLINE else STATISTICS[statistic].label


def axes_of(summary: pd.DataFrame) -> list[str]:
    """Columns of numbers for the horizontal axis: the size, and others with several values."""
    usual = [SIZE, "ranks", "ppn", *(c for c in summary if c.startswith(("option_", "env_")))]
    return [c for c in usual if c == SIZE or (c in summary and _counts(summary[c]) and summary[c].nunique() > 1)]


def _counts(column: pd.Series) -> bool:
    """Whether a column holds numbers."""
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


def usual(campaigns: Sequence[str], benchmark: str, summary: pd.DataFrame, before: View) -> View:
    """Apply a view to other data; choices that these data do not have are replaced."""
    metrics = metrics_of(summary)
    metric = before.metric if before.metric in metrics else next(iter(metrics), "")
    statistics = statistics_of(summary, metric) if metric else []
    statistic = before.statistic  # a chosen one stays: a point without it leaves a gap and a reason
    if statistic == HEADLINE and statistics:
        statistic = statistics[0]
    x = before.x if before.x in axes_of(summary) else SIZE
    return dataclasses.replace(
        before, campaigns=tuple(campaigns), benchmark=benchmark, metric=metric, statistic=statistic, x=x
    )


def words(name: str) -> str:
    """Name of a column in words, for a list."""
    return COLUMNS[name].name.replace("_B", " (B)").replace("_", " ") if name in COLUMNS else name.replace("_", " ")


def first(names: Sequence[str]) -> str:
    """Benchmark to begin with: latency if it is present."""
    return "mpi.latency" if "mpi.latency" in names else next(iter(names), "")
