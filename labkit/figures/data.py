"""The data of a figure, read back from plotly's plain form: rows with units, a description, a table in its place."""

from __future__ import annotations

import base64
import html
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from labkit.figures.small_print import TITLE
from labkit.point.units import format_number, format_range, format_size, plural

_TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
_TAG = re.compile(r"<[^>]*>")
BOX = ("lowerfence", "q1", "median", "q3", "upperfence")  # of a trace of boxes
_SERIES = 6  # that a description names


def values(array: Any) -> list[Any]:
    """Return the plain values of an array as plotly writes it: a list, or base64 of a typed array.

    Examples
    --------
    >>> values({"dtype": "i2", "bdata": "AQACAA=="}), values([1, "a"])
    ([1, 2], [1, 'a'])
    """
    if isinstance(array, Mapping) and "bdata" in array:
        if array["dtype"] not in _TYPES:
            raise ValueError(f"dtype={array['dtype']!r}, but plotly writes {', '.join(_TYPES)}")
        flat = np.frombuffer(base64.b64decode(array["bdata"]), dtype=np.dtype(array["dtype"]))
        shape = [int(part) for part in str(array.get("shape", flat.size)).split(",")]
        return list(flat.reshape(shape).tolist())
    return list(array) if isinstance(array, list | tuple) else []


def columns(trace: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the one-dimensional data of a trace; a heat map becomes a row for each cell."""
    columns = {key: values(trace[key]) for key in ("labels", "values", "base", "x", "y", *BOX, "z") if key in trace}
    for axis in ("x", "y"):
        if axis in columns:
            columns[axis] = _places(trace[axis])
        error = trace.get(f"error_{axis}") or {}
        for end, key, sign in (("low", "arrayminus", -1), ("high", "array", 1)):
            pairs = itertools.zip_longest(columns.get(axis, []), values(error.get(key)))
            columns[f"{axis}_{end}"] = [_end(at, length, sign) for at, length in pairs] if error.get(key) else []
    columns = {key: array for key, array in columns.items() if array}
    if columns.get("z") and isinstance(columns["z"][0], list):
        rows, width = columns["z"], len(columns["z"][0])
        x, y = columns.get("x") or list(range(width)), columns.get("y") or list(range(len(rows)))
        columns |= {
            "x": [a for _ in rows for a in x],
            "y": [b for b in y for _ in range(width)],
            "z": _cells(trace, rows),
        }
    return columns


def _places(array: Any) -> list[Any]:
    """Return the places of points on an axis; the names of one at several levels become one name."""
    places = values(array)
    if places and all(isinstance(names, list) for names in places):
        return [", ".join(map(str, names)) for names in zip(*places, strict=False)]
    return places


def _end(at: Any, length: Any, sign: int) -> float | str:
    """Return an end of an interval; nothing without one."""
    known = isinstance(at, int | float) and isinstance(length, int | float)
    return float(f"{at + sign * length:.12g}") if known else ""


def _cells(trace: Mapping[str, Any], rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Return the values of the cells of a heat map, row after row; a colour may stand for their logarithm."""
    cells, meta = [*itertools.chain.from_iterable(rows)], trace.get("meta")
    base = meta.get("logarithm") if isinstance(meta, Mapping) else None
    if not base:
        return cells
    return [float(f"{base**z:.12g}") if isinstance(z, int | float) else z for z in cells]


def words(spec: Mapping[str, Any]) -> str:
    """Describe a figure in a sentence for each panel, from its data, for readers who cannot see it.

    Examples
    --------
    >>> words({"data": [{"name": "shm", "x": [1, 2], "y": [0.5, 0.75]}], "layout": {"yaxis": {"title": "latency"}}})
    'latency: shm from 0.5 to 0.75 (2 points).'
    >>> words({"data": [{"type": "bar", "orientation": "h", "name": "wire", "x": [274.8], "y": [9]}]})
    'Figure: wire 274.8.'
    """
    layout, every = spec.get("layout", {}), list(spec.get("data", []))
    listed = {one.get("name") for one in every if one.get("showlegend") is not False}  # in the legend of all panels
    panels: dict[str, list[Mapping[str, Any]]] = {}
    for trace in every:
        axes = [title(layout, axis_of(trace, one)) or title(layout, f"{one}axis") for one in ("y", "x")]
        panels.setdefault(" against ".join(filter(None, axes)) or "Figure", []).append(trace)
    told = []
    for about, traces in panels.items():
        shown, own = [], {one.get("name") for one in traces if one.get("showlegend") is not False}
        for one in traces:
            if one.get("showlegend") is not False or one.get("name") in listed - own:
                shown.append(one)
                own.add(one.get("name"))
        shown = shown or traces
        series = [text for trace in shown[:_SERIES] if (text := _described(trace))]
        series += [f"{len(shown) - _SERIES} more series"] if len(shown) > _SERIES else []
        told.append(f"{about}: {'; '.join(series or [f'{len(shown)} series'])}.")
    sides = ("Left: ", "Right: ") if len(told) == 2 else ("",) * len(told)
    return " ".join(f"{side}{text}" for side, text in zip(sides, told, strict=True))


def _described(trace: Mapping[str, Any]) -> str:
    """Return name, first and last value, and number of points of a trace; empty if it has no numbers."""
    name = trace.get("name") or "the values"
    if trace.get("type") == "heatmap":
        cells = [z for z in _cells(trace, values(trace.get("z"))) if isinstance(z, int | float) and math.isfinite(z)]
        ends = f" from {format_number(min(cells))} to {format_number(max(cells))}" if cells else ""
        return f"{name}{ends} ({plural(len(cells), 'cell')})"
    lengths = "x" if trace.get("orientation") == "h" else "y"  # of horizontal bars
    drawn = values(trace.get("median" if trace.get("type") == "box" else lengths))
    heights = [y for y in drawn if isinstance(y, int | float) and math.isfinite(y)]
    if not heights:
        return ""
    if len(heights) == 1:
        return f"{name} {format_number(heights[0])}"
    return f"{name} from {format_number(heights[0])} to {format_number(heights[-1])} ({plural(len(heights), 'point')})"


def single(spec: Mapping[str, Any]) -> tuple[list[str], tuple[tuple[str, ...], ...]] | None:
    """Return a table to show instead of a figure with a single x value or a single bar; None for other figures.

    Parameters
    ----------
    spec : plotly figure. Several bars, heat maps and distributions stay figures.
    """
    every = spec.get("data", [])
    traces = [trace for trace in every if trace.get("showlegend") is not False]
    bars = [trace for trace in every if trace.get("type") == "bar"]
    heights = [y for trace in bars for y in values(trace.get("y")) if y is not None]
    kinds = {trace.get("type", "scatter") for trace in every}
    alone = len(heights) == 1 and kinds <= {"bar", "scatter"} and bars[0].get("orientation") != "h"
    traces = traces or every * alone
    places = {x for trace in every for x in _places(trace.get("x")) if x is not None}
    lines = all(trace.get("type", "scatter") == "scatter" for trace in traces)
    if not traces or len(places) != 1 or not (lines or alone) or (lines and isinstance(next(iter(places)), str)):
        return None
    rows = tuple(row for trace in traces if (row := _single(trace)))
    layout = spec.get("layout", {})
    upward, right = (title(layout, axis) for axis in ("yaxis", "xaxis"))
    ticks = values(layout.get("xaxis", {}).get("ticktext")) or [x for x in places if isinstance(x, str)]
    (place,) = places
    where = f" at {_place(right, place, ticks[0])}" if len(ticks) == 1 and right else ""
    return (["series", f"{upward}{where}", "interval"], rows) if rows else None


def _place(title: str, place: Any, tick: Any) -> str:
    """Return a place on an axis in words: a size alone, a count before its noun, any other value after the title."""
    if title.endswith("(B)") and not isinstance(place, str):
        return format_size(round(place))
    counted = re.fullmatch(r"[a-z]+s", title) and str(tick).isdecimal() and str(tick) != "1"
    return f"{tick} {title}" if counted else f"{title} {tick}"


def _single(trace: Mapping[str, Any]) -> tuple[str, ...]:
    """Return name, value and interval of a trace with one point; nothing if it has none or several."""
    heights = [y for y in values(trace.get("y")) if isinstance(y, int | float)]
    if len(heights) != 1:
        return ()
    error = trace.get("error_y") or {}
    up, down = (values(error.get(name)) for name in ("array", "arrayminus"))
    ends = (heights[0] - down[0], heights[0] + up[0]) if up and down else (math.nan, math.nan)
    return (plain(trace.get("name") or "–"), format_number(heights[0], width=ends[1] - ends[0]), format_range(*ends))


def title(layout: Mapping[str, Any], axis: str) -> str:
    """Return the title of an axis in one line, without the small print below it."""
    title = layout.get(axis, {}).get("title") or {}
    text = str(title.get("text", "") if isinstance(title, Mapping) else title)
    meta = layout.get("meta")
    if axis == "xaxis" and isinstance(meta, Mapping) and TITLE in meta:
        text = str(meta[TITLE])
    return plain(text.replace("<br>", " "))


def plain(text: str) -> str:
    """Return a text of a figure without markup.

    Examples
    --------
    >>> plain("a &lt; b<sub>1</sub>")
    'a < b1'
    """
    return html.unescape(_TAG.sub("", text))


def rows(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each point of a plotly figure: its series, panel, places and values, with their intervals.

    If the tick labels of an axis are names, the rows hold these names instead of positions. Panels with different axes
    have their own columns, named after the axis.

    Examples
    --------
    >>> rows({"data": [{"name": "shm", "x": [1, 2], "y": [0.5, 0.75]}]})
    [{'series': 'shm', 'x': 1, 'y': 0.5}, {'series': 'shm', 'x': 2, 'y': 0.75}]
    """
    return list(_rows(spec))


def titles(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the columns of `rows` that have one, with their units; no two are equal.

    Examples
    --------
    >>> titles({"data": [{}], "layout": {"yaxis": {"title": {"text": "latency (µs)"}}}})
    {'y': 'latency (µs)', 'y_low': 'latency (µs), low', 'y_high': 'latency (µs), high'}
    """
    layout, traces = spec.get("layout", {}), spec.get("data", [])
    found: dict[str, str] = {}
    for axis in ("x", "y"):
        names = _titled(spec, axis) - {""}
        if len(names) == 1 and not names & {*found.values()}:
            found[axis] = names.pop()
            found |= {f"{axis}_{end}": f"{found[axis]}, {end}" for end in ("low", "high")}
    if "y" in found and any(trace.get("type") == "box" for trace in traces):
        found |= {one: f"{found['y']}, {one}" for one in BOX}
    bars = {title(trace, "colorbar") for trace in traces if trace.get("type") == "heatmap"} - {""}
    bars |= {title(layout.get("coloraxis") or {}, "colorbar")} - {""}
    if len(bars) == 1 and not bars & {*found.values()}:
        found["z"] = bars.pop()
    return found


def _titled(spec: Mapping[str, Any], axis: str) -> set[str]:
    """Return the titles of the axes of all panels."""
    return {title(spec.get("layout", {}), axis_of(trace, axis)) for trace in spec.get("data", [])}


def _rows(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    several = [axis for axis in ("x", "y") if "" not in (names := _titled(spec, axis)) and len(names) > 1]
    for number, trace in enumerate(spec.get("data", [])):
        if trace.get("mode") == "text":  # labels of other traces
            continue
        meta = trace.get("meta")
        panel = {"panel": meta["panel"]} if isinstance(meta, Mapping) and "panel" in meta else {}
        found = columns(trace)
        for axis in {"x", "y"} & found.keys():
            found[axis] = named(found[axis], spec.get("layout", {}).get(axis_of(trace, axis), {}))
        for axis in several:
            own = title(spec.get("layout", {}), axis_of(trace, axis))
            called = {axis: own, f"{axis}_low": f"{own}, low", f"{axis}_high": f"{own}, high"}
            found = {called.get(key, key): array for key, array in found.items()}
        for row in itertools.zip_longest(*found.values(), fillvalue=""):
            if set(row) <= {None, ""}:  # a gap in a line
                continue
            yield {"series": trace.get("name") or number} | panel | dict(zip(found, row, strict=True))


def axis_of(trace: Mapping[str, Any], axis: str) -> str:
    """Return the key of a trace's axis in the layout: ``xaxis``, ``yaxis2``."""
    return f"{axis}axis{str(trace.get(f'{axis}axis') or axis)[1:]}"


def named(places: list[Any], axis: Mapping[str, Any]) -> list[Any]:
    """Return the names of rows in place of their numbers, where each has a tick that is more than its number."""
    ticks = zip(values(axis.get("tickvals")), values(axis.get("ticktext")), strict=False)
    names = {place: " ".join(html.unescape(_TAG.sub(" ", str(text))).split()) for place, text in ticks}
    if axis.get("type") == "log":  # which shows 0 at a separate place
        return [0 if names.get(place) == "0" else place for place in places]
    if not all(isinstance(one, int | float) and one in names for one in places):
        return places
    return [place if names[place] == format_number(place) else names[place] for place in places]
