"""Draw how far launches spread, beside how far the iterations inside each do."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.lines import column
from labkit.figures.looks import Look
from labkit.figures.plotly import go
from labkit.figures.points import error_bars, metric_of
from labkit.point.columns import STATISTICS, Metric, statistic_column
from labkit.point.columns import title as column_title
from labkit.point.notes import note
from labkit.point.units import format_number, format_share
from labkit.read.records import headline_statistic

_NEAR = 1.3  # medians of series within this factor share an axis in the metric's unit; others are drawn in per cent
_NAMED = 3  # series whose spread stands below the figure


def launches(records: pd.DataFrame, metric: str, *, series: Sequence[str] | None = None) -> go.Figure:
    """Draw each launch's median with its interval: the spread between launches beside that within them.

    Series far from one another are drawn as differences from their median over launches, in per cent.

    Parameters
    ----------
    records : from `labkit.read.records.table`; a few points of it.
    metric : as in `labkit.point.columns.METRICS`.
    series : columns whose values make a series each; None for those that differ.

    Raises
    ------
    DataError
        If there is nothing to draw, or a launch would stand twice in a series.
    """
    definition, shown = metric_of(records, metric), headline_statistic(records, metric)
    split = style.split(records, style.varying(records) if series is None else series)
    parts = [part._replace(rows=part.rows.sort_values("launch")) for part in split]
    centres = [_centre(part.rows, metric, shown) for part in parts]
    relative = min(centres) > 0 and max(centres) / min(centres) > _NEAR
    figure, spreads = go.Figure(), []
    for part, centre, look in zip(parts, centres, looks.make_looks(parts), strict=True):
        name, origin, rows = part.name, part.origin, part.rows
        marks = _marks(rows, definition, shown, centre if relative else None, origin, look)
        figure.add_trace(marks.update(name=name, meta=look.meta, offsetgroup=name))
        if not relative:
            figure.add_hline(centre, line={"color": look.colour, "width": 1, "dash": "dot"}, name=look.series)
        spreads.append(_spreads(rows, column(rows, metric, shown), html.unescape(name) if len(parts) > 1 else ""))
    if relative:
        figure.add_hline(0, line={"color": "#555", "width": 1, "dash": "dot"})
    inside = "bars: 95 % interval of the median inside the launch, by its n_eff" if shown == "p50" else ""
    title = column_title(statistic_column(metric, shown))
    if relative:
        title = f"{definition.label}, {STATISTICS[shown].label}:<br>difference from that<br>over launches (%)"
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": "launch"}},
        yaxis={"title": {"text": title}, "range": _room(figure)},
        showlegend=len(parts) > 1,
        scattermode="group",
    )
    return style.finish(
        figure,
        style.of_size(records.get("message_size_B", ())),
        note("bars", inside),
        note("dotted", "dotted: median over launches"),
        *(note("spread", one) for one in spreads[:_NAMED]),
    )


def _centre(rows: pd.DataFrame, metric: str, shown: str) -> float:
    """Return the median over launches of one series; raise a `DataError` if a launch is in it twice."""
    if rows["launch"].duplicated().any():
        raise DataError(
            f"A series has two rows for one launch. They differ in {style.varying(rows)}. Name that in series."
        )
    return stats.headline(column(rows, metric, shown)).centre


def _marks(rows: pd.DataFrame, metric: Metric, shown: str, centre: float | None, origin: str, look: Look) -> go.Scatter:
    """Return markers of one series with their intervals inside launches; in per cent of a centre where one is given."""
    y, marker = column(rows, metric.name, shown), style.marker(origin, look)
    inside = [
        column(rows, metric.name, end) if shown == "p50" else np.full(len(y), np.nan) for end in ("ci_low", "ci_high")
    ]
    error = error_bars(inside[0], y, inside[1], marker["color"])
    fields: dict[str, Sequence[Any]] = {
        STATISTICS[shown].label: [format_number(v, metric.unit) for v in y.tolist()],
        "n_eff": [None if math.isnan(v) else format_number(v, digits=3) for v in rows["n_eff"]],
        "spread within": [None if math.isnan(v) else format_share(v, digits=3) for v in rows["spread_within"]],
        **style.common(rows),
    }
    if centre is not None:
        y = 100 * (y / centre - 1)
        error = error and error | {side: [100 * v / centre for v in error[side]] for side in ("array", "arrayminus")}
    return go.Scatter(
        x=[str(launch) for launch in rows["launch"]],
        y=y.tolist(),
        mode="markers",
        marker=marker,
        error_y=error,
        **style.hover(["launch %{x}"], fields),
    )


def _room(figure: go.Figure) -> list[float]:
    """Return a range of the axis that holds every interval; not from 0, because the differences matter."""
    ends = [end for trace in figure.data for end in _ends(trace)]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.08 * (high - low) or 0.01 * abs(high) or 1.0
    return [low - room, high + room]


def _ends(trace: go.Scatter) -> list[float]:
    """Ends of all error bars of a trace, or its points if it has none."""
    y = np.asarray(trace.y, np.float64)
    up, down = (0 if side is None else np.asarray(side) for side in (trace.error_y.array, trace.error_y.arrayminus))
    return [*(y + up).tolist(), *(y - down).tolist()]


def _spreads(rows: pd.DataFrame, y: NDArray[np.float64], name: str) -> str:
    """Say how far launches spread, and the iterations inside them, both in per cent of the median."""
    both = {"between launches": stats.relative_spread(y), "within": float(rows["spread_within"].median())}
    parts = [f"{label} {format_share(value, digits=3)}" for label, value in both.items() if not math.isnan(value)]
    return f"{name + ': ' if name else ''}spread of the middle half {', '.join(parts)}" if parts else ""
