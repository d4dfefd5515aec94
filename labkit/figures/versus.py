"""Draw one or several quantities against a column of numbers, such as a window or the number of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from labkit.errors import DataError, unknown_name
from labkit.figures import axes, lines, looks, style
from labkit.figures.lines import HEADLINE, Line
from labkit.figures.plotly import go
from labkit.figures.points import bars_of, described, hover_fields, metric_of, numbers, texts
from labkit.point.columns import METRICS, STATISTICS, Metric, split
from labkit.point.columns import title as column_title
from labkit.point.notes import joined, note
from labkit.point.units import format_number
from labkit.read.records import headline_statistic

_FAR = 8.0  # greatest over least value from which an axis is logarithmic
_INSIDE = 600  # px of the axis to the right, about


def versus(
    summary: pd.DataFrame,
    x: str,
    shown: str | Mapping[str, str],
    *,
    series: Sequence[str] = (),
    log: bool | None = None,
    label: str = "",
    even: bool = False,
    hover: bool = True,
) -> go.Figure:
    """Draw a metric, or several quantities of one unit, against a column of numbers, with intervals over launches.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    x : column to the right; ticks stand at the values that occur. 0 is drawn left of a logarithmic axis.
    shown : metric, drawn as its headline statistic (see `versus_size`), or name in the legend → column such as
        ``latency_us_osu_mean``, drawn as it is; all in the same unit.
    series : columns whose values make a line each. Origins are always kept apart.
    log : logarithmic upward axis; None for costs, and for rates of which the least would lie at the foot.
    label : label of the axis to the right; the column's own title when left out.
    even : the axis to the right is linear from 0, with ticks at even steps, as for a part of a whole.
    hover : False for a page that says itself what a point is: no texts, and arrays instead of lists.

    Raises
    ------
    DataError
        If there is nothing to draw, a column is missing or units differ.
    """
    if x not in summary:
        raise unknown_name("column", x, list(summary.columns), error=DataError)
    columns = _columns(summary, shown)
    frame = pd.concat([summary.assign(quantity=name) for name in columns]).dropna(subset=[x])
    names = [name for name in ("quantity",) if len(columns) > 1] + list(series)
    figure, parts = go.Figure(), style.split(frame, names)
    drawn = list(_parts(parts, columns))
    assumed = x == "ranks" and "ranks_assumed" in frame and frame["ranks_assumed"].any()
    guess = "ranks are assumed where a log does not state them" if assumed else ""
    right, zero = _axis(frame[x].tolist(), x, label or column_title(x))
    if even:
        end = float(frame[x].max()) or 1.0
        right = {"type": "linear", "range": [-0.03 * end, 1.03 * end], "title": right["title"]}
    for metric, line in drawn:
        figure.add_trace(_line(line, x, METRICS[metric], right, hover).update(name=line.name, meta=line.look.meta))
    up: dict[str, Any] = {"title": {"text": _title(drawn, columns)}}
    curves = [lines.column(line.rows, metric, line.statistic) for metric, line in drawn]
    if METRICS[drawn[0][0]].kind == "rate" and not axes.are_far(curves) if log is None else not log:
        up["rangemode"] = "tozero"
    else:
        up["type"] = "log"
    figure.update_layout(
        xaxis=right,
        yaxis=up,
        showlegend=len(drawn) > 1 or bool(names),
        hovermode="closest",
        meta=described(summary, drawn[0][0] if len({metric for metric, _ in drawn}) == 1 else "", "numbers", x),
    )
    return style.finish(
        figure,
        note("bars", _bars(drawn)),
        note("gaps", _gaps(summary, columns)),
        note("assumed", guess),
        note("zero", "" if even else zero),
    )


def _parts(parts: Sequence[looks.Part], columns: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, Line]]:
    """Return metric and line of every series, each with the statistic of its quantity."""
    every = pd.concat([part.rows for part in parts])
    for part, look in zip(parts, looks.make_looks(parts), strict=True):
        metric, statistic = columns[str(part.rows["quantity"].iloc[0])]
        for line in lines.of_series(part, look, metric, statistic, headline_statistic(every, metric)):
            yield metric, line


def _bars(drawn: Sequence[tuple[str, Line]]) -> str:
    """Say what the error bars of all lines are."""
    by_metric: dict[str, list[Line]] = {}
    for metric, line in drawn:
        by_metric.setdefault(metric, []).append(line)
    return joined(dict.fromkeys(lines.meaning(group, metric) for metric, group in by_metric.items()))


def _gaps(summary: pd.DataFrame, columns: Mapping[str, tuple[str, str]]) -> str:
    """Say why points lack a requested quantity."""
    quantities = dict.fromkeys(parts for parts in columns.values() if parts[1] != HEADLINE)
    return joined(lines.gaps(summary, *parts) for parts in quantities)


def _columns(summary: pd.DataFrame, shown: str | Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Metric and statistic of each quantity, all in one unit."""
    if isinstance(shown, str):
        metric_of(summary, shown)
        return {shown: (shown, HEADLINE)}
    parsed = {name: split(column) for name, column in shown.items() if _has_metric(summary, column)}
    unknown = [column for name, column in shown.items() if not parsed.get(name)]
    if unknown:
        raise DataError(f"The table has no quantity {unknown[0]!r}. Name columns such as latency_us_p50.")
    columns = {name: parts for name, parts in parsed.items() if parts}
    units = {METRICS[metric].unit for metric, _ in columns.values()}
    if len(units) > 1:
        raise DataError(f"The quantities are in {' and '.join(sorted(units))}. Draw those of one unit together.")
    return columns


def _has_metric(summary: pd.DataFrame, column: str) -> bool:
    """Return whether a table has a column or another one of its metric; a missing statistic leaves a gap."""
    parts, others = split(column), [split(other) for other in summary]
    return column in summary or bool(parts and any(other and other[0] == parts[0] for other in others))


def _title(drawn: Sequence[tuple[str, Line]], columns: Mapping[str, tuple[str, str]]) -> str:
    """Return the title of the upward axis: one quantity with its statistic, or what all have in common."""
    if len(columns) == 1:
        return lines.title([line for _, line in drawn], drawn[0][0])
    metrics = dict.fromkeys(METRICS[metric] for metric, _ in columns.values())
    statistics = dict.fromkeys(STATISTICS[line.statistic].label for _, line in drawn)
    last = f", {next(iter(statistics))}" if len(statistics) == 1 else ""
    return f"{' and '.join(m.label for m in metrics)}{last} ({next(iter(metrics)).unit})"


def _line(line: Line, x: str, metric: Metric, axis: Mapping[str, Any], hover: bool) -> go.Scatter:
    """Line of one series, with the intervals of what is drawn."""
    rows, statistic = line.rows.sort_values(x, kind="stable"), line.statistic
    line = replace(line, rows=rows)
    if rows[x].duplicated().any():
        repeated = rows[rows[x] == rows.loc[rows[x].duplicated(), x].iloc[0]]
        raise DataError(
            f"A series has several points at {x}={repeated[x].iloc[0]}, which differ in "
            f"{', '.join(style.varying(repeated, skip=[x])) or 'their fingerprint'}. Add these columns to series, "
            "or filter the table."
        )
    marker = style.marker(line.origin, line.look)
    values = lines.column(rows, metric.name, statistic)
    error = bars_of(line, metric.name, marker["color"])
    places: list[float | None] = [axes.on(value, axis) for value in rows[x]]
    about: dict[str, Any] = _about(rows, x, metric, statistic) if hover else {"hoverinfo": "none"}
    heights = [None if math.isnan(v) else v for v in values.tolist()]
    if axis["type"] == "log" and rows[x].iloc[0] == 0 and len(rows) > 1:  # nothing lies between 0 and the next
        for column in (places, heights, *((error["array"], error["arrayminus"]) if error else ())):
            column.insert(1, None)
        if about.get("customdata"):
            about["customdata"].insert(1, [""] * len(about["customdata"][0]))
    if error and not hover:
        error |= {side: numbers(error[side], hover) for side in ("array", "arrayminus")}
    return go.Scatter(
        x=numbers(places, hover),
        y=numbers(heights, hover),
        error_y=error,
        mode=lines.mode(line.origin, len(rows)),
        marker=marker,
        line={"color": marker["color"], "dash": style.dash(line.origin, line.look), "width": 2},
        **about,
    )


def _about(rows: pd.DataFrame, x: str, metric: Metric, statistic: str) -> dict[str, Any]:
    """Hover text of a line."""
    return style.hover(
        [f"<b>%{{value}} {metric.unit}</b> {STATISTICS[statistic].label}"],
        {column_title(x): [format_number(float(v)) for v in rows[x]]}
        | hover_fields(rows, metric, statistic, ["p95", "p99", "max"]),
        value=texts(rows, metric, statistic),
    )


def _axis(values: Sequence[float], x: str, title: str) -> tuple[dict[str, Any], str]:
    """Axis to the right, with a label at every value if it fits, and its small print about 0."""
    if x.endswith("_B"):
        return axes.sizes(values, title), "size 0 is drawn left of the logarithmic axis" if min(values) == 0 else ""
    present = sorted({float(value) for value in values})
    positive = [value for value in present if value > 0] or [1.0]
    far = positive[-1] / positive[0] >= _FAR
    zero = far and present[0] == 0
    places = [value or positive[0] / 2 for value in present] if far else present
    scaled = np.log10(places) if far else np.asarray(places)
    length = float(np.ptp(scaled)) or 1.0
    shown = axes.spaced(scaled.tolist(), [format_number(value) for value in present], _INSIDE)
    room = 0.04 * length if len(places) > 1 else 0.5
    return {
        "type": "log" if far else "linear",
        "title": {"text": title},
        "tickmode": "array",
        "tickvals": [places[n] for n in shown],
        "ticktext": [format_number(present[n]) for n in shown],
        "range": [float(scaled.min()) - room, float(scaled.max()) + room],
    }, "0 is drawn left of the logarithmic axis" if zero else ""
