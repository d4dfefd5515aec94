"""Draw published numbers into a figure of measured ones: in their own style, named after paper and network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.errors import SpecError
from labkit.figures import axes, looks, small_print, style
from labkit.figures.looks import Look
from labkit.figures.plotly import go
from labkit.point.columns import METRICS
from labkit.point.notes import note
from labkit.point.units import parse_size
from labkit.read.reference import LARGE, SMALL, Entry

_ORIGIN = "published"
_PART = 0.25  # of the axis that a number of small or of large messages takes
_ROW = 30  # px of a row of the legend
_NOTE = "published: not measured here"


def overlay(figure: go.Figure, entries: Sequence[Entry]) -> go.Figure:
    """Return a figure with published numbers beside its own; the figure itself does not change.

    A number for one message size is a point. A number for several sizes is a dotted line over these sizes, or over a
    quarter of the axis if the paper only says small or large messages. A printed range is an error bar. In a figure of
    bars it is a bar.

    Parameters
    ----------
    figure : from `labkit.figures.versus_size` or `labkit.figures.bars`.
    entries : entries of the figure's metric, such as from `labkit.read.reference.matching`.

    Raises
    ------
    SpecError
        If it is another kind of figure, or a number is of another metric.
    """
    about = subject(figure)
    wrong = next((one for one in entries if one.number.metric != about["metric"]), None)
    if wrong:
        metric = wrong.number.metric or "no metric of labkit"
        raise SpecError(f"{wrong.number.name} is of {metric}, but the figure shows {about['metric']}. Leave it out.")
    drawn = go.Figure(figure)
    if not entries:
        return drawn
    names = [_name(one) for one in entries]
    for entry, look in zip(entries, _apart(figure, names), strict=True):
        drawn.add_trace(_bar(entry, look) if about["axis"] == "categories" else _trace(entry, look, drawn))
        drawn.data[-1].uid = f"t{len(drawn.data) - 1}"
    if about["axis"] == "sizes":
        drawn.update_layout(xaxis=_axis(drawn, about["sizes"], entries))
        heights = [[y for y in trace.y if y is not None] for trace in drawn.data if trace.y is not None]
        if drawn.layout.yaxis.type == "linear" and axes.are_far(heights):
            drawn.layout.yaxis = axes.measure(METRICS[about["metric"]], drawn.layout.yaxis.title.text, heights)
    small_print.add(drawn, note("published", _NOTE))
    drawn.update_layout(showlegend=True, height=drawn.layout.height + _ROW * len(set(names)))
    return drawn


def subject(figure: go.Figure) -> Mapping[str, Any]:
    """Return benchmarks, metric, sizes and kind of horizontal axis (``sizes`` or ``categories``) of a figure.

    Raises
    ------
    SpecError
        If the figure does not say them.
    """
    meta = figure.layout.meta
    if not isinstance(meta, dict) or meta.get("axis") not in ("sizes", "categories"):
        raise SpecError(
            "Published numbers go into figures against message size and into bars, which this figure is not. Take "
            "figures.versus_size or figures.bars."
        )
    return meta


def fitting(figure: go.Figure, entries: Sequence[Entry]) -> list[Entry]:
    """Return the numbers that a figure can show; a figure of bars shows only sizes that have a bar."""
    about = subject(figure)
    if about["axis"] == "sizes":
        return list(entries)
    return [one for one in entries if one.number.size == "" or one.number.size_B in about["sizes"]]


def _name(entry: Entry) -> str:
    """Name of a number in the legend."""
    number = entry.number
    return f"{number.network or number.text}, {entry.paper.short}"


def _apart(figure: go.Figure, names: Sequence[str]) -> list[Look]:
    """Looks of published numbers that differ from those in the figure."""
    series = [look.series for trace in figure.data if (look := looks.drawn({"meta": trace.meta}))]
    return looks.named([*series, *names])[len(series) :]


def _value(entry: Entry) -> tuple[float, float]:
    """Middle and half width of a number in the metric's unit."""
    number = entry.number
    low, high = (number.in_unit(METRICS[number.metric].unit, end) for end in number.ends)
    return (low + high) / 2, (high - low) / 2


def _about(entry: Entry, look: Look) -> dict[str, Any]:
    """Name, hover text and look that every trace of a number has."""
    number, unit, name = entry.number, METRICS[entry.number.metric].unit, look.series
    stated = f"published: {number.stated}" + ("" if number.unit == unit else f" = {number.stated_in(unit)}")
    fields: dict[str, Sequence[Any]] = {"what": [number.text], "conditions": [number.circumstances]}
    fields |= {"place": [entry.place], "note": [number.note]}
    meta = look.meta | {"overlay": True}
    return {
        "name": f"{style.plain(name)} (published)",
        "meta": meta,
        "legendgroup": name,
        "showlegend": True,
    } | style.hover([f"<b>{style.plain(stated)}</b>"], fields)


def _trace(entry: Entry, look: Look, figure: go.Figure) -> go.Scatter:
    """A point, or a line if there is no single size."""
    value, half = _value(entry)
    given = figure.layout.meta["sizes"]
    smallest = min([size for size in given if size > 0], default=1)
    size, origin, colour = entry.number.size_B, style.ORIGINS[_ORIGIN], look.colour
    shared = {
        "marker": style.marker(_ORIGIN, look) | {"size": 10},
        "meta": look.meta | {"overlay": True},
        **_about(entry, look),
    }
    error = {"type": "data", "color": colour, "thickness": 1.2, "width": 4} if half else None
    if size is not None:
        error = error and error | {"array": [half]}
        return go.Scatter(x=[axes.place(size, smallest)], y=[value], mode="markers", error_y=error, **shared)
    begin, end = _ends(entry, given)
    shared |= {"line": {"color": colour, "dash": origin.dash, "width": 2}}
    shared["marker"] = shared["marker"] | {"size": [0, 10, 0]}  # no size is marked that the paper does not name
    error = error and error | {"array": [0.0, half, 0.0]}
    x = [begin, math.sqrt(begin * end), end]
    return go.Scatter(x=x, y=[value] * 3, mode="lines+markers", error_y=error, **shared)


def _ends(entry: Entry, sizes: Sequence[int]) -> tuple[float, float]:
    """Ends of a line on the axis of sizes, B."""
    if entry.number.sizes:
        first, last = (float(max(parse_size(size), 1)) for size in entry.number.sizes)
        return first, last
    positive = [size for size in sizes if size > 0] or [1]
    low, high = math.log(positive[0]), math.log(max(positive[-1], 2 * positive[0]))
    begin = high - _PART * (high - low) if entry.number.size == LARGE else low
    end = low + _PART * (high - low) if entry.number.size == SMALL else high
    return math.exp(begin), math.exp(end)


def _axis(figure: go.Figure, sizes: Sequence[int], entries: Sequence[Entry]) -> dict[str, Any]:
    """Axis of sizes, with room for the sizes of published numbers."""
    more = [parse_size(size) for one in entries for size in one.number.sizes]
    return axes.sizes(sorted({*sizes, *more}), figure.layout.xaxis.title.text or "")


def _bar(entry: Entry, look: Look) -> go.Bar:
    """A separate bar."""
    value, half = _value(entry)
    error = {"type": "data", "array": [half], "color": "#222"} if half else None
    shared = {"marker": style.bar(_ORIGIN, look), **_about(entry, look)}
    return go.Bar(x=[style.plain(look.series)], y=[value], error_y=error, **shared)
