"""Turn a plotly output into what the report shows: a bundle of HTML, SVG and text, and its data as CSV."""

from __future__ import annotations

import base64
import html
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from labkit import spreadsheet
from labkit.figures.style import MIME
from labkit.report import cleaning, markdown
from labkit.units import format_number, format_range, plural

PLOTLY = MIME
SVG = "image/svg+xml"
NOTE = "[Interactive figure: see the HTML report. Chromium, which draws figures for the PDF, was missing or failed.]"
_TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
_TAG = re.compile(r"<[^>]*>")
_SERIES = 6  # that a description names
HEIGHT = 400  # px, where the figure asks for none


def bundle(data: Mapping[str, Any], *, link: str = "") -> dict[str, Any]:
    """Return the three forms of a figure from which both engines can choose.

    Parameters
    ----------
    data : MIME bundle of an executed cell, with plotly's and perhaps the SVG.
    link : address of the figure's data, relative to the page; empty for none.

    Returns
    -------
    ``text/html`` (drawn by report.js), ``image/svg+xml`` where there is one, and ``text/plain``, which the PDF
    shows where there is none.
    """
    spec = data[PLOTLY]
    height = float(spec.get("layout", {}).get("height") or HEIGHT)
    figure = {key: spec[key] for key in ("data", "layout", "config") if key in spec}
    body = json.dumps(figure, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    words = html.escape(described(spec))
    shown = f' role="group" aria-label="{words}"' if words else ""
    page = f'<div class="plot" style="height:{height:g}px"{shown}><script type="application/json">{body}</script></div>'
    if link:
        page += f'<p class="data"><a href="{html.escape(link)}" download>data (CSV)</a></p>'
    forms = {"text/html": page, "text/plain": NOTE}
    if data.get(SVG):
        forms[SVG] = data[SVG]
    return forms


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


def _columns(trace: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the one-dimensional data of a trace; a heat map becomes a row for each cell."""
    columns = {key: values(trace[key]) for key in ("labels", "values", "base", "x", "y", "z") if key in trace}
    for axis in ("x", "y"):
        error = trace.get(f"error_{axis}") or {}
        columns[f"{axis}_error_plus"] = values(error.get("array"))
        columns[f"{axis}_error_minus"] = values(error.get("arrayminus"))
    columns = {key: array for key, array in columns.items() if array}
    if columns.get("z") and isinstance(columns["z"][0], list):
        rows, width = columns["z"], len(columns["z"][0])
        x, y = columns.get("x") or list(range(width)), columns.get("y") or list(range(len(rows)))
        columns |= {
            "x": [a for _ in rows for a in x],
            "y": [b for b in y for _ in range(width)],
            "z": list(itertools.chain.from_iterable(rows)),
        }
    return columns


def captioned(caption: str, file: str, label: str, spec: Mapping[str, Any]) -> str:
    """Return a picture as Markdown, with its caption, which is Markdown too, and what it shows in words."""
    words = cleaning.spoken(described(spec)) or "Figure"
    return f'![{caption}]({file}){{#{label} fig-alt="{words}"}}'


def described(spec: Mapping[str, Any]) -> str:
    """Return what a figure shows in a sentence, from its data, for readers who do not see it; empty for strange data.

    Examples
    --------
    >>> described({"data": [{"name": "shm", "x": [1, 2], "y": [0.5, 0.75]}], "layout": {"yaxis": {"title": "latency"}}})
    'latency: shm from 0.5 to 0.75 (2 points).'
    >>> described({"data": [{"type": "bar", "orientation": "h", "name": "wire", "x": [274.8], "y": [9]}]})
    'Figure: wire 274.8.'
    """
    try:
        layout = spec.get("layout", {})
        upward, right = (_title(layout.get(axis, {})) for axis in ("yaxis", "xaxis"))
        shown = [trace for trace in spec.get("data", []) if trace.get("showlegend") is not False]
        shown = shown or list(spec.get("data", []))
        series = [text for trace in shown[:_SERIES] if (text := _described(trace))]
        series += [f"{len(shown) - _SERIES} more series"] if len(shown) > _SERIES else []
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError):
        return ""  # not real arrays
    axes = " against ".join(filter(None, (upward, right)))
    return f"{axes or 'Figure'}: {'; '.join(series or [f'{len(shown)} series'])}." if shown else ""


def _described(trace: Mapping[str, Any]) -> str:
    """Return name, first and last value, and number of points of a trace; empty where it has no numbers."""
    name = trace.get("name") or "the values"
    if trace.get("type") == "heatmap":
        cells = [z for row in values(trace.get("z")) for z in row if isinstance(z, int | float) and math.isfinite(z)]
        ends = f" from {format_number(min(cells))} to {format_number(max(cells))}" if cells else ""
        return f"{name}{ends} ({plural(len(cells), 'cell')})"
    lengths = "x" if trace.get("orientation") == "h" else "y"  # of horizontal bars
    heights = [y for y in values(trace.get(lengths)) if isinstance(y, int | float) and math.isfinite(y)]
    if not heights:
        return ""
    if len(heights) == 1:
        return f"{name} {format_number(heights[0])}"
    return f"{name} from {format_number(heights[0])} to {format_number(heights[-1])} ({plural(len(heights), 'point')})"


def single(spec: Mapping[str, Any]) -> str:
    """Return a table in the place of a figure whose lines have one x value, or of a single bar; empty for others.

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
    places = {x for trace in every for x in values(trace.get("x")) if x is not None}
    lines = all(trace.get("type", "scatter") == "scatter" for trace in traces)
    if not traces or len(places) != 1 or not (lines or alone) or (lines and isinstance(next(iter(places)), str)):
        return ""
    rows = [row for trace in traces if (row := _single(trace))]
    layout = spec.get("layout", {})
    upward, right = (_title(layout.get(axis, {})) for axis in ("yaxis", "xaxis"))
    ticks = values(layout.get("xaxis", {}).get("ticktext")) or [x for x in places if isinstance(x, str)]
    where = f" at {right} {ticks[0]}" if len(ticks) == 1 and right else ""
    return (
        markdown.table(["series", markdown.escape(f"{upward}{where}"), "interval"], rows, align="lrl") if rows else ""
    )


def _single(trace: Mapping[str, Any]) -> list[str]:
    """Return name, value and interval of a trace with one point; nothing where it has none or several."""
    heights = [y for y in values(trace.get("y")) if isinstance(y, int | float)]
    if len(heights) != 1:
        return []
    error = trace.get("error_y") or {}
    up, down = (values(error.get(name)) for name in ("array", "arrayminus"))
    ends = (heights[0] - down[0], heights[0] + up[0]) if up and down else (math.nan, math.nan)
    return [markdown.escape(trace.get("name") or "–"), format_number(heights[0]), format_range(*ends)]


def _title(axis: Mapping[str, Any]) -> str:
    """Return the title of an axis without its small print, in one line.

    Examples
    --------
    >>> _title({"title": {"text": 'share at or<br>below<br><span style="font-size:11px">bars: range</span>'}})
    'share at or below'
    """
    title = axis.get("title") or {}
    text = str(title.get("text", "") if isinstance(title, Mapping) else title)
    return text.partition("<br><span")[0].replace("<br>", " ")


def _rows(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for number, trace in enumerate(spec.get("data", [])):
        if trace.get("mode") == "text":  # labels of other traces
            continue
        meta = trace.get("meta")
        panel = {"panel": meta["panel"]} if isinstance(meta, Mapping) and "panel" in meta else {}
        columns = _columns(trace)
        for axis in {"x", "y"} & columns.keys():
            columns[axis] = _named(columns[axis], spec.get("layout", {}).get(_axis(trace, axis), {}))
        for row in itertools.zip_longest(*columns.values(), fillvalue=""):
            yield {"trace": trace.get("name") or number} | panel | dict(zip(columns, row, strict=True))


def _axis(trace: Mapping[str, Any], axis: str) -> str:
    """Return the key of a trace's axis in the layout: ``xaxis``, ``yaxis2``."""
    return f"{axis}axis{str(trace.get(f'{axis}axis') or axis)[1:]}"


def _named(places: list[Any], axis: Mapping[str, Any]) -> list[Any]:
    """Return the names of rows in the place of their numbers, where each has a tick that is more than its number."""
    ticks = zip(values(axis.get("tickvals")), values(axis.get("ticktext")), strict=False)
    names = {place: " ".join(html.unescape(_TAG.sub(" ", str(text))).split()) for place, text in ticks}
    if axis.get("type") == "log" or not all(isinstance(one, int | float) and one in names for one in places):
        return places
    return [place if names[place] == format_number(place) else names[place] for place in places]


def as_csv(spec: Mapping[str, Any]) -> str:
    """Return the numbers of a plotly figure as CSV text, a row for each point; empty where it holds none.

    Where the ticks of an axis name rows, the names stand in the place of the rows' numbers.

    Examples
    --------
    >>> print(as_csv({"data": [{"name": "shm", "x": [1, 2], "y": [0.5, 0.75]}]}), end="")
    trace,x,y
    shm,1,0.5
    shm,2,0.75
    """
    return spreadsheet.of_rows(_rows(spec))
