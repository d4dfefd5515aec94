"""One value per point with its interval: against message size, or one bar per category."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import DataError, unknown_name
from labkit.figures import axes, lines, style
from labkit.figures.lines import HEADLINE, Line, column, ends_of
from labkit.figures.plotly import go
from labkit.point.columns import METRICS, STATISTICS, Metric, statistic_column
from labkit.point.columns import title as column_title
from labkit.point.notes import joined, note
from labkit.point.units import format_number
from labkit.read.records import value_of, why_not


def metric_of(frame: pd.DataFrame, metric: str) -> Metric:
    """Return the metric of that name; raise a `DataError` if the table does not have it."""
    if metric not in METRICS:
        raise unknown_name("metric", metric, list(METRICS), error=DataError)
    if not _has(frame, metric):
        present = [name for name in METRICS if _has(frame, name)]
        raise DataError(f"The table has no {metric}. It has: {', '.join(present) or 'no metric at all'}.")
    return METRICS[metric]


def _has(frame: pd.DataFrame, metric: str) -> bool:
    """Return whether a table has any statistic of a metric."""
    return any(statistic_column(metric, statistic) in frame for statistic in STATISTICS)


def error_bars(
    low: NDArray[np.float64], centre: NDArray[np.float64], high: NDArray[np.float64], colour: str
) -> dict[str, Any] | None:
    """Return error bars from the ends of the intervals; None if no point has an interval."""
    if np.isnan(low).all():
        return None
    up, down = np.nan_to_num(high - centre).clip(0), np.nan_to_num(centre - low).clip(0)
    return {
        "type": "data",
        "symmetric": False,
        "array": up.tolist(),
        "arrayminus": down.tolist(),
        "color": colour,
        "thickness": 1.2,
        "width": 3,
    }


def bars_of(line: Line, metric: str, colour: str) -> dict[str, Any] | None:
    """Error bars of a line: the interval over launches of its own statistic."""
    low, high = ends_of(line.rows, metric, line.statistic)
    return error_bars(low, column(line.rows, metric, line.statistic), high, colour)


def texts(rows: pd.DataFrame, metric: Metric, statistic: str) -> list[str]:
    """Values of a statistic as all tables write them."""
    return [value_of(row, metric.name, statistic).text for row in rows.to_dict("records")]


def hover_fields(rows: pd.DataFrame, metric: Metric, shown: str, others: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the fields of hover texts: the ends of what is drawn, other statistics, `style.common`."""
    fields: dict[str, Sequence[Any]] = {}
    records = rows.to_dict("records")
    if "headline" in rows:
        values = [value_of(row, metric.name, shown) for row in records]
        fields["over launches"] = [v.label if math.isnan(v.low) else f"{v.range} {v.unit} ({v.label})" for v in values]
    for name in others:
        fields[STATISTICS[name].label] = [_stated(row, metric.name, name) for row in records]
    return fields | style.common(rows)


def _stated(row: Mapping[Any, Any], metric: str, statistic: str) -> str | None:
    """Return a statistic for the hover text, marked if it is unreliable, or the reason why there is none."""
    value = value_of(row, metric, statistic)
    if math.isnan(value.value):
        return f"none: {why_not(row, metric, statistic)}" if "launches" in row else None
    doubt = " (fewer than 10 samples beyond)" if statistic in row.get("unreliable", ()) else ""
    return f"{value.text} {value.unit}{doubt}"


def _gap(x: list[float], zero: bool) -> list[int | None]:
    """Return the order of points with a gap after size 0: a logarithm has nothing between it and the next size."""
    order: list[int | None] = list(range(len(x)))
    return [0, None, *order[1:]] if zero and len(x) > 1 else order


def numbers(values: list[Any], hover: bool) -> Any:
    """Return values unchanged, or for a page as an array, which plotly copies and checks faster; gaps are NaN."""
    return values if hover else np.array(values, np.float64)


def _with_gap(values: Sequence[Any], order: Sequence[int | None]) -> list[Any]:
    """Return values in that order; None in the gap and for NaN."""
    return [None if i is None or _is_nan(values[i]) else values[i] for i in order]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _arranged(values: Any, order: Sequence[int | None], hover: bool) -> Any:
    """Return values in an order: a list with None in the gap, or for a page an array with NaN there."""
    if hover:
        return _with_gap(values if isinstance(values, list) else values.tolist(), order)
    array = np.asarray(values, np.float64)
    return np.insert(array, 1, np.nan) if len(order) > len(array) else array


def _size_title(rows: pd.DataFrame) -> str:
    """Title of the axis of sizes: the benchmarks' common name of it, else the name for messages."""
    unknown_name = [benchmarks.look_up(str(name)) for name in rows["benchmark"].unique()] if "benchmark" in rows else []
    titles = {one.size_label if one else "" for one in unknown_name}
    return (titles.pop() if len(titles) == 1 else "") or column_title("message_size_B")


def versus_size(
    summary: pd.DataFrame,
    metric: str,
    *,
    series: Sequence[str] | None = None,
    statistic: str = HEADLINE,
    tail: str | None = "p99",
    bounds: Mapping[str, float] | None = None,
    hover: bool = True,
    drawn: Sequence[Line] | None = None,
) -> go.Figure:
    """Draw a metric against message size, with its interval over launches and, thinner, a tail.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    metric : as in `labkit.point.columns.METRICS`.
    series : columns whose values make a line each; None for those that differ. Origins are always kept apart.
    statistic : statistic of the thick line. ``headline`` is the median; points of a source without one make their own
        line that names its statistic. Of any other, only that is drawn: a gap, and its reason, where a point has none.
    tail : statistic of the thin line; None for no line.
    bounds : label → value of horizontal lines no measurement can pass, in the metric's unit.
    hover : False for a page that says itself what a point is: no texts, and arrays instead of lists.
    drawn : lines of `labkit.figures.lines.make_lines` with these series and this statistic, their rows by size; made
        here when left out.

    Raises
    ------
    DataError
        If there is nothing to draw, or a metric or column is unknown.
    """
    definition = metric_of(summary, metric)
    frame = summary if drawn is not None else summary.sort_values("message_size_B", kind="stable")
    sizes = sorted(set(frame["message_size_B"].tolist()))
    smallest = min((size for size in sizes if size > 0), default=1)
    traces: list[dict[str, Any]] = []
    tails = False
    series = style.varying(frame, skip=["message_size_B"]) if series is None else series
    drawn = lines.make_lines(style.split(frame, series), metric, statistic) if drawn is None else drawn
    groups = list(dict.fromkeys((line.look.slot, line.look.variant) for line in drawn))
    for line in drawn:
        for trace in _lines(line, definition, tail, smallest, hover):
            tails |= not trace["showlegend"]
            group = f"{groups.index((line.look.slot, line.look.variant))}"
            traces.append({**trace, "name": line.name, "legendgroup": group, "meta": line.look.meta})
    figure = go.Figure(traces, _validate=hover)
    _bound_lines(figure, bounds or {}, definition)
    doubt = bool(tail) and any(tail in names for names in frame.get("unreliable", []))
    beyond = ", open with fewer than 10 samples beyond" if doubt else ""
    thin = f"{_word(drawn)}: {STATISTICS[tail].label}{beyond}" if tails and tail else ""
    zero = "size 0 is drawn left of the logarithmic axis" if min(sizes) == 0 else ""
    lacking = _lacking(frame, metric, statistic, tail)
    heights = [column(line.rows, metric, line.statistic) for line in drawn]
    figure.update_layout(
        xaxis=axes.sizes(sizes, _size_title(summary)),
        yaxis=axes.measure(definition, lines.title(drawn, metric), heights),
        showlegend=len(drawn) > 1 or bool(series) or any(": no " in line.name for line in drawn),
        hovermode="closest",
        meta=described(frame, metric, "sizes", "message_size_B"),
    )
    return style.finish(
        figure,
        note("bars", lines.meaning(drawn, metric)),
        note("thin", thin),
        note("gaps", lacking),
        note("zero", zero),
    )


def _word(drawn: Sequence[Line]) -> str:
    """How the tails of a figure look beside its medians."""
    bare = {lines.mode(line.origin, len(line.rows)) == "markers" for line in drawn}
    return {frozenset({True}): "small", frozenset({False}): "thin"}.get(frozenset(bare), "thin or small")


def described(rows: pd.DataFrame, metric: str, axis: str, column: str) -> dict[str, Any]:
    """Record what a figure shows, so that published numbers and bounds can be drawn into it.

    Parameters
    ----------
    metric : empty if it shows several.
    axis : axis to the right: ``sizes``, ``numbers`` or ``categories``.
    column : column of that axis.
    """
    names = sorted(rows["benchmark"].unique()) if "benchmark" in rows else []
    sizes = sorted({int(size) for size in set(rows["message_size_B"].tolist())}) if "message_size_B" in rows else []
    return {"benchmarks": names, "metric": metric, "sizes": sizes, "axis": axis, "column": column}


def _lacking(frame: pd.DataFrame, metric: str, statistic: str, tail: str | None) -> str:
    """Say which of the requested statistics are missing, and why; not of the tail of reported values."""
    own = frame[frame["n"] > 0] if "n" in frame else frame
    wanted = {statistic: frame, tail: own if statistic == lines.HEADLINE else frame}
    return joined(lines.gaps(rows, metric, name) for name, rows in wanted.items() if name and name != lines.HEADLINE)


def _lines(line: Line, metric: Metric, tail: str | None, smallest: float, hover: bool) -> list[dict[str, Any]]:
    """Return the thick line of one series with its error bars, and the thin line of its tail."""
    rows, statistic = line.rows, line.statistic
    if rows["message_size_B"].nunique() < len(rows):
        repeated = int(rows.loc[rows["message_size_B"].duplicated(), "message_size_B"].iloc[0])
        differ = style.varying(rows[rows["message_size_B"] == repeated], skip=["message_size_B"])
        raise DataError(
            f"A series has several points at {repeated} B, which differ in {', '.join(differ) or 'their fingerprint'}. "
            "Add that column to series, or filter the table."
        )
    x = [axes.place(size, smallest) for size in rows["message_size_B"].tolist()]
    order = _gap(x, rows["message_size_B"].iloc[0] == 0)
    dash, marker = style.dash(line.origin, line.look), style.marker(line.origin, line.look)
    drawn = []
    for name, thick in ((statistic, True), (tail, False)):
        y = column(rows, metric.name, name) if name else np.empty(0)
        if not name or (not thick and (name == statistic or np.isnan(y).all())):
            continue
        about: dict[str, Any] = _about(rows, metric, name, thick) if hover else {"hoverinfo": "none"}
        if hover:
            about["customdata"] = _with_gap(about["customdata"] or [""] * len(x), order)
        error = bars_of(line, metric.name, marker["color"]) if thick else None
        if error:
            error |= {side: _arranged(error[side], order, hover) for side in ("array", "arrayminus")}
        drawn.append(
            {
                "type": "scatter",
                "x": _arranged(x, order, hover),
                "y": _arranged(y, order, hover),
                "error_y": error,
                "mode": lines.mode(line.origin, len(rows)),
                "marker": marker if thick else _doubted(marker, rows, name, order),
                "line": {"color": marker["color"], "dash": dash, "width": 2 if thick else 1},
                "opacity": 1.0 if thick else 0.55,
                "showlegend": thick,
                **about,
            }
        )
    return drawn


def _about(rows: pd.DataFrame, metric: Metric, name: str, thick: bool) -> dict[str, Any]:
    """Hover text of a line."""
    fields: dict[str, Sequence[Any]] = {"size": [f"{int(s):,} B" for s in rows["message_size_B"]]}
    if thick:
        fields |= hover_fields(rows, metric, name, ["p95", "p99", "max"])
    head = [f"<b>%{{value}} {metric.unit}</b> {STATISTICS[name].label}"]
    return style.hover(head, fields, value=texts(rows, metric, name))


def _doubted(marker: Mapping[str, Any], rows: pd.DataFrame, name: str, order: Sequence[int | None]) -> dict[str, Any]:
    """Small marker of a tail; open where too few samples lie beyond."""
    shape = marker["symbol"].partition("-open")[0]
    weak = [name in names for names in rows.get("unreliable", [()] * len(rows))]
    if not any(weak):
        return {**marker, "size": 4}
    symbols = [f"{shape}-open" if i is not None and weak[i] else marker["symbol"] for i in order]
    return {**marker, "size": 4, "symbol": symbols}


def _bound_lines(figure: go.Figure, bounds: Mapping[str, float], metric: Metric) -> None:
    """Horizontal lines with their label and value."""
    for label, value in bounds.items():
        text = f"{label}: {format_number(value, metric.unit)}"
        position = "top left" if metric.kind == "rate" else "bottom right"
        figure.add_hline(
            value,
            line={"color": "#555", "width": 1.2, "dash": "dash"},
            annotation_text=text,
            annotation_position=position,
            annotation_font_size=12,
        )


def _beside(summary: pd.DataFrame, category: str) -> list[str]:
    """Return the columns that the category determines: each of its values goes with one of theirs."""
    return [
        c
        for c in summary
        if c == category or summary.groupby(category, dropna=False)[c].nunique(dropna=False).max() == 1
    ]


def bars(
    summary: pd.DataFrame,
    category: str,
    metric: str,
    *,
    series: Sequence[str] | None = None,
    statistic: str = HEADLINE,
    log: bool | None = None,
) -> go.Figure:
    """Draw a bar per category with its interval over launches; categories are never joined.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    category : column whose values stand side by side.
    metric : as in `labkit.point.columns.METRICS`.
    series : columns whose values make a colour each; None for those that differ beside the category.
    statistic : height of the bars, as in `versus_size`.
    log : draw points on a logarithmic axis instead, where the length of a bar would mean nothing; None for values of
        which the least would have no visible bar.

    Raises
    ------
    DataError
        If there is nothing to draw, or a bar would represent several rows.
    """
    definition, figure = metric_of(summary, metric), go.Figure()
    if category not in summary:
        raise unknown_name("column", category, list(summary.columns), error=DataError)
    series = style.varying(summary, skip=_beside(summary, category)) if series is None else series
    parts = style.split(summary, series)
    drawn = lines.make_lines(parts, metric, statistic)
    log = axes.are_far(column(line.rows, metric, line.statistic) for line in drawn) if log is None else log
    for line in drawn:
        rows, shown = line.rows, line.statistic
        labels, y = [style.level_word(row, category) for row in rows.to_dict("records")], column(rows, metric, shown)
        if len(set(labels)) < len(labels):
            raise DataError(
                f"Several rows share one bar of {category!r}. Name what they differ in as series, or filter the table."
            )
        about = style.hover(
            [f"<b>%{{value}} {definition.unit}</b> {STATISTICS[shown].label}"],
            hover_fields(rows, definition, shown, ["p99"]),
            value=texts(rows, definition, shown),
        )
        marker = style.marker(line.origin, line.look) if log else style.bar(line.origin, line.look)
        figure.add_trace(
            {
                "type": "scatter" if log else "bar",
                "x": labels,
                "y": _with_gap(y.tolist(), range(len(y))),
                "name": line.name,
                "marker": marker,
                "meta": line.look.meta,
                "error_y": bars_of(line, metric, line.look.colour if log else "#222"),
                **({"mode": "markers", "offsetgroup": line.name} if log else {}),
                **about,
            }
        )
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": column_title(category)}},
        yaxis={"title": {"text": lines.title(drawn, metric)}} | ({"type": "log"} if log else {"rangemode": "tozero"}),
        showlegend=len(drawn) > 1 or bool(series),
        **({"scattermode": "group"} if log else {"barmode": "group", "bargap": 0.35}),
        meta=described(summary, metric, "categories", category),
    )
    return style.finish(
        figure,
        note("bars", lines.meaning(drawn, metric)),
        note("gaps", _lacking(summary, metric, statistic, None)),
    )
