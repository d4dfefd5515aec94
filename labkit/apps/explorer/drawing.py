"""A plot as the page shows it: short texts beside points, and marks at the selected points."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from labkit.apps.explorer.view import HEIGHT, SIZE, View
from labkit.figures import label_lines, small_print, style
from labkit.figures.plotly import raw
from labkit.point.columns import METRICS
from labkit.point.columns import title as column_title
from labkit.point.notes import joined
from labkit.point.units import format_number, format_size

_AROUND, _BESIDE = 90, 150  # px of a figure above and below its axes, and beside a name
_LEGEND = 50  # px of a figure that a page without legends need not give
_LETTER = 6  # px of a letter of a name
MARKS = "marks"  # what the trace of the marks is called
_RING = {"symbol": "circle-open", "size": 17, "color": "#d55e00", "line": {"width": 2.5}}
_KEPT = re.compile(
    r"<b>|interval: |over launches: |size: |setting: |what: |how: |conditions: "
)  # lines of a hover text
_OF_AXES = re.compile(r"%\{(?!customdata)")  # what plotly alone would fill in


def brief(figure: go.Figure, *, asks: bool = True) -> go.Figure:
    """Let the page show short texts beside points; the figure is changed.

    A trace with a hover text keeps its main lines in its metadata.

    Parameters
    ----------
    asks : whether the page asks the kernel for the text of any other trace; if not, it reads the places on both axes.
    """
    traces, _ = raw(figure)
    for trace in traces:
        if trace.get("hoverinfo") == "skip":
            continue
        lines = (trace.pop("hovertemplate", None) or "").partition("<extra>")[0].split("<br>")
        kept = "<br>".join(line for line in lines if _KEPT.match(line) or not asks)
        kept = "" if not asks and _OF_AXES.search(kept) else kept
        trace["meta"] = trace.get("meta", {}) | ({"hover": kept} if kept or asks else {})
        trace["hoverinfo"] = "none"
    return figure


def apart(figure: go.Figure) -> str:
    """Take the small print from a figure's axis and return it as plain text: the page breaks it to its own width."""
    return joined(small_print.take(figure))


def fitted(figure: go.Figure, width: int, *, narrow: bool) -> go.Figure:
    """Let a figure have the same room for its lines whatever their number and names; the figure is changed.

    Each further row of the legend makes it higher. In a narrow page, names are beside the lines.

    Parameters
    ----------
    width : width of the figure in the page, px.
    """
    traces, layout = raw(figure)
    if narrow:  # plotly gives the room of a legend back only with another height
        label_lines(figure, HEIGHT - _LEGEND - _AROUND, max(8, (width - _BESIDE) // _LETTER))
        return figure.update_layout(height=HEIGHT - _LEGEND)
    return figure.update_layout(height=HEIGHT + (style.further_rows(traces, width) if layout.get("showlegend") else 0))


def said(view: View, name: str, row: Mapping[str, Any]) -> str:
    """Texts of a point, one per line: its series, its place, and its value with the interval."""
    value = view.value(row)
    unit = view.unit or METRICS[view.metric].unit
    across = format_size(int(row[SIZE])) if view.x == SIZE else format_number(float(row[view.x]))
    place = across if view.x == SIZE else f"{column_title(view.x)} {across}"
    interval = value.label if math.isnan(value.low) else f"{value.range} {unit} ({value.label})"
    text = f"no {value.words}" if math.isnan(value.value) else f"{value.text} {unit}, {value.words}"
    return "\n".join(part for part in (html.unescape(name), f"{place}: {text}", interval) if part)


def marked(figure: go.Figure, places: Sequence[tuple[float, float]]) -> go.Figure:
    """Add the trace of the marks, also if nothing is marked, so that the figure can change in place."""
    figure.add_scatter(**ring(places), name=MARKS, mode="markers", meta={"overlay": True})
    figure.data[-1].update(marker=_RING, hoverinfo="skip", showlegend=False, uid=MARKS)
    return figure


def ring(places: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Places of the marks, as properties of their trace."""
    return {"x": [x for x, _ in places], "y": [y for _, y in places]}
