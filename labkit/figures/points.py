"""One value per point with its interval: against message size, or one bar per category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from labkit.columns import METRICS, STATISTICS, Metric, statistic_column
from labkit.columns import title as column_title
from labkit.errors import DataError, known
from labkit.figures import axes, looks, style
from labkit.figures.looks import Look
from labkit.records import headline_statistic
from labkit.units import format_number


def metric_of(frame: pd.DataFrame, metric: str) -> Metric:
    """Return the metric of that name, once it is sure that the table has it."""
    if metric not in METRICS:
        raise DataError(str(known("metric", metric, list(METRICS))))
    have = [name for name in METRICS if any(statistic_column(name, s) in frame for s in STATISTICS)]
    if metric not in have:
        raise DataError(f"The table has no {metric}. It has: {', '.join(have) or 'no metric at all'}.")
    return METRICS[metric]


def column(rows: pd.DataFrame, metric: str, statistic: str) -> NDArray[np.float64]:
    """Return values of a statistic, NaN where the table has none."""
    name = statistic_column(metric, statistic)
    return rows[name].to_numpy(np.float64) if name in rows else np.full(len(rows), np.nan)


def statistic_of(rows: pd.DataFrame, metric: str, statistic: str) -> str:
    """Statistic to draw: the one asked for, or what stands for it where the source gives none."""
    return headline_statistic(rows, metric) if np.isnan(column(rows, metric, statistic)).all() else statistic


def error_bars(
    rows: pd.DataFrame,
    metric: str,
    centre: NDArray[np.float64],
    colour: str,
    ends: tuple[str, str] = ("low", "high"),
) -> dict[str, Any] | None:
    """Error bars between two columns, those of the headline interval by default; None where no point has any."""
    low, high = (column(rows, metric, end) for end in ends)
    if np.isnan(low).all():
        return None
    up, down = np.nan_to_num(high - centre).clip(0), np.nan_to_num(centre - low).clip(0)
    return {"type": "data", "symmetric": False, "array": up.tolist(), "arrayminus": down.tolist(),
            "color": colour, "thickness": 1.2, "width": 3}  # fmt: skip


def meaning(frame: pd.DataFrame) -> str:
    """Say what the error bars are, from the labels of the headline intervals that occur."""
    labels = [str(label) for label in dict.fromkeys(frame.get("headline", [])) if label]
    ranges = [label for label in labels if label != "1 launch"]
    if not ranges:
        return "1 launch each: no interval" if labels else ""
    rest = "; single launches have none" if len(ranges) < len(labels) else ""
    return f"bars: {', '.join(ranges)}{rest}"


def hover_fields(rows: pd.DataFrame, metric: Metric, statistics: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Hover fields: the interval by its own name, tails, and what `style.common` has."""
    fields: dict[str, Sequence[Any]] = {}
    ends = zip(column(rows, metric.name, "low"), column(rows, metric.name, "high"), strict=True)
    if "headline" in rows:
        fields["interval"] = [
            f"{format_number(low)} – {format_number(high, metric.unit)} ({label})" if low == low else label
            for (low, high), label in zip(ends, rows["headline"], strict=True)
        ]
    weak = rows["unreliable"].tolist() if "unreliable" in rows else [""] * len(rows)
    for name in statistics:
        values = column(rows, metric.name, name)
        doubts = [" (fewer than 10 samples beyond)" if _is_weak(text, name) else "" for text in weak]
        fields[name] = [
            f"{format_number(v, metric.unit)}{d}" if v == v else None for v, d in zip(values, doubts, strict=True)
        ]
    return fields | style.common(rows)


def _gap(x: list[float], zero: bool) -> list[int | None]:
    """Order of points with a hole after size 0: there is nothing between it and the next size on a logarithm."""
    order: list[int | None] = list(range(len(x)))
    return [0, None, *order[1:]] if zero and len(x) > 1 else order


def _with_gap(values: Sequence[Any], order: Sequence[int | None]) -> list[Any]:
    """Values in that order; None in the hole and for NaN."""
    return [None if i is None or values[i] != values[i] else values[i] for i in order]


def versus_size(
    summary: pd.DataFrame,
    metric: str,
    *,
    series: Sequence[str] | None = None,
    statistic: str = "p50",
    tail: str | None = "p99",
    bounds: Mapping[str, float] | None = None,
) -> go.Figure:
    """Draw a metric against message size, with the headline interval and, thinner, a tail.

    Parameters
    ----------
    summary : from `labkit.records.summary`.
    metric : as in `labkit.columns.METRICS`.
    series : columns whose values make a line each; None for those that differ. Origins are always kept apart.
    statistic : of the thick line; where a tool gives only a mean, that is drawn and the hover text says so.
    tail : of the thin line; None for none.
    bounds : label → value of horizontal lines no measurement can pass, in the metric's unit.

    Raises
    ------
    DataError
        If there is nothing to draw, or a metric or column is unknown.
    """
    what = metric_of(summary, metric)
    frame = summary.sort_values("message_size_B", kind="stable")
    every = frame["message_size_B"].tolist()
    smallest = min((size for size in every if size > 0), default=1)
    figure, tails = go.Figure(), False
    series = style.varying(frame, skip=["message_size_B"]) if series is None else series
    parts = style.split(frame, series)
    for n, ((name, origin, rows), seen) in enumerate(zip(parts, looks.of(parts), strict=True)):
        for trace in _lines(rows, what, statistic_of(rows, metric, statistic), tail, smallest, origin, seen):
            tails |= not trace.showlegend
            trace.update(name=name, legendgroup=f"{n}", meta=seen.meta)
            figure.add_trace(trace)
    _bound_lines(figure, bounds or {}, what)
    doubt = tails and tail and any(_is_weak(text, tail) for text in frame.get("unreliable", []))
    beyond = ", open where fewer than 10 samples lie beyond" if doubt else ""
    thin = f"thin: {STATISTICS[tail].label}{beyond}" if tails and tail else ""
    zero = "size 0 is set apart" if min(every) == 0 else ""
    small = "; ".join(text for text in (meaning(frame), thin, zero) if text)
    shown = statistic_of(frame, metric, statistic)
    figure.update_layout(
        xaxis=axes.sizes(every, style.note(column_title("message_size_B"), small)),
        yaxis=axes.measure(what, column_title(statistic_column(metric, shown))),
        showlegend=len(parts) > 1 or bool(series),
        hovermode="closest",
    )
    return style.finish(figure)


def _lines(
    rows: pd.DataFrame, metric: Metric, statistic: str, tail: str | None, smallest: float, origin: str, seen: Look
) -> list[go.Scatter]:
    """Thick line with error bars, and the thin line of the tail, of one series."""
    if rows["message_size_B"].duplicated().any():
        twice = int(rows.loc[rows["message_size_B"].duplicated(), "message_size_B"].iloc[0])
        differ = style.varying(rows[rows["message_size_B"] == twice], skip=["message_size_B"])
        raise DataError(
            f"A series has several points at {twice} B, which differ in {', '.join(differ) or 'their fingerprint'}. "
            "Name that column in series, or filter the table."
        )
    x = [axes.place(size, smallest) for size in rows["message_size_B"]]
    order = _gap(x, rows["message_size_B"].iloc[0] == 0)
    look, marker = style.ORIGINS[origin], style.marker(origin, seen)
    size = [f"{int(s):,} B" for s in rows["message_size_B"]]
    drawn = []
    for name, thick in ((statistic, True), (tail, False)):
        y = column(rows, metric.name, name) if name else np.empty(0)
        if not name or np.isnan(y).all() or (not thick and name == statistic):
            continue
        fields = {"size": size} | (hover_fields(rows, metric, ["p95", "p99", "max"]) if thick else {})
        about = style.hover([f"<b>%{{y:,.4~r}} {metric.unit}</b> {STATISTICS[name].label}"], fields)
        about["customdata"] = _with_gap(about["customdata"] or [""] * len(x), order)
        error = error_bars(rows, metric.name, y, marker["color"]) if thick else None
        if error:
            error |= {side: _with_gap(error[side], order) for side in ("array", "arrayminus")}
        drawn.append(
            go.Scatter(
                x=_with_gap(x, order),
                y=_with_gap(y.tolist(), order),
                error_y=error,
                mode="lines+markers" if look.markers else "lines",
                marker=marker if thick else _doubted(marker, rows, name, order),
                line={"color": marker["color"], "dash": look.dash, "width": 2 if thick else 1},
                opacity=1.0 if thick else 0.55,
                showlegend=thick,
                **about,
            )
        )
    return drawn


def _doubted(marker: Mapping[str, Any], rows: pd.DataFrame, name: str, order: Sequence[int | None]) -> dict[str, Any]:
    """Small marker of a tail; open where too few samples lie beyond."""
    shape = marker["symbol"].partition("-open")[0]
    weak = [_is_weak(text, name) for text in rows.get("unreliable", [""] * len(rows))]
    symbols = [f"{shape}-open" if i is not None and weak[i] else marker["symbol"] for i in order]
    return {**marker, "size": 4} | ({"symbol": symbols} if any(weak) else {})


def _is_weak(unreliable: str, name: str) -> bool:
    """Whether a percentile stands in the column `unreliable`."""
    return name in unreliable.split("; ")


def _bound_lines(figure: go.Figure, bounds: Mapping[str, float], metric: Metric) -> None:
    """Horizontal lines with their label and value."""
    for label, value in bounds.items():
        text = f"{label}: {format_number(value, metric.unit)}"
        position = "top left" if metric.kind == "rate" else "bottom right"
        figure.add_hline(value, line={"color": "#555", "width": 1.2, "dash": "dash"}, annotation_text=text,
                         annotation_position=position, annotation_font_size=11)  # fmt: skip


def _beside(summary: pd.DataFrame, category: str) -> list[str]:
    """Columns that say no more than the category does: each of its values goes with one of theirs."""
    return [
        c
        for c in summary
        if c == category or summary.groupby(category, dropna=False)[c].nunique(dropna=False).max() == 1
    ]


def bars(
    summary: pd.DataFrame, category: str, metric: str, *, series: Sequence[str] | None = None, statistic: str = "p50"
) -> go.Figure:
    """Draw a bar per category with the headline interval; categories are never joined.

    Parameters
    ----------
    summary : from `labkit.records.summary`.
    category : column whose values stand side by side.
    metric : as in `labkit.columns.METRICS`.
    series : columns whose values make a colour each; None for those that differ beside the category.
    statistic : height of the bars.

    Raises
    ------
    DataError
        If there is nothing to draw, or a bar would stand for several rows.
    """
    what, figure = metric_of(summary, metric), go.Figure()
    if category not in summary:
        raise DataError(f"There is no column {category!r} for the bars. There are: {', '.join(summary.columns)}.")
    series = style.varying(summary, skip=_beside(summary, category)) if series is None else series
    parts = style.split(summary, series)
    for (name, origin, rows), seen in zip(parts, looks.of(parts), strict=True):
        shown = statistic_of(rows, metric, statistic)
        labels, y = [style.word(category, value) for value in rows[category]], column(rows, metric, shown)
        if len(set(labels)) < len(labels):
            raise DataError(
                f"Several rows share one bar of {category!r}. Name what they differ in as series, or filter the table."
            )
        about = style.hover(
            [f"<b>%{{y:,.4~r}} {what.unit}</b> {STATISTICS[shown].label}"], hover_fields(rows, what, ["p99"])
        )
        figure.add_trace(
            go.Bar(x=labels, y=_with_gap(y.tolist(), range(len(y))), name=name,
                   marker=style.bar(origin, seen), meta=seen.meta,
                   error_y=error_bars(rows, metric, y, "#222"), **about)
        )  # fmt: skip
    shown = statistic_of(summary, metric, statistic)
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": style.note(column_title(category), meaning(summary))}},
        yaxis={"rangemode": "tozero", "title": {"text": column_title(statistic_column(metric, shown))}},
        showlegend=len(parts) > 1 or bool(series),
        barmode="group",
        bargap=0.35,
    )
    return style.finish(figure)
