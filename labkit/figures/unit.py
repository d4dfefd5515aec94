"""Show the values of a figure in another unit of the same quantity."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np

from labkit.figures import data, small_print
from labkit.figures.plotly import go
from labkit.point.columns import METRICS
from labkit.point.units import MOST_MB, factor, format_number

SMALL, LARGE = "MB/s", "GB/s"
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_VALUES = re.compile(rf"({_NUMBER.pattern}(?: to {_NUMBER.pattern})?) {SMALL}")
_OF_VALUES = re.compile(r"(interval|p95|p99|p999|max|min): ")  # lines of a hover text with values in the old unit


def in_unit(figure: go.Figure, metric: str, unit: str) -> go.Figure:
    """Return a figure with its values in another unit; the figure itself does not change.

    Parameters
    ----------
    figure : figure with one metric on its upward axis, such as from `labkit.figures.versus_size`.
    metric : as in `labkit.point.columns.METRICS`.
    unit : unit of `labkit.point.units.OTHER_UNITS`; empty for the metric's own.

    Raises
    ------
    SpecError
        If the metric is not told in that unit.
    """
    base = METRICS[metric].unit
    times = factor(base, unit)
    if times == 1:
        return figure
    drawn = go.Figure(figure)
    for trace in drawn.data:
        trace.y = _scaled(trace.y, times)
        if trace.error_y.array is not None:
            bars = {side: _scaled(trace.error_y[side], times) for side in ("array", "arrayminus")}
            trace.error_y.update({side: values for side, values in bars.items() if values is not None})
        if trace.hovertemplate:
            trace.hovertemplate = _hover(trace.hovertemplate, unit)
    title = drawn.layout.yaxis.title.text or ""
    drawn.update_layout(yaxis_title_text=title.replace(f"({base})", f"({unit})"))
    step = drawn.layout.yaxis.dtick
    if isinstance(step, str) and step.startswith("L"):  # even steps of a logarithmic axis are in its unit
        drawn.layout.yaxis.dtick = f"L{float(step[1:]) * times:g}"
    return drawn


def readable(spec: dict[str, Any]) -> bool:
    """Tell the bandwidths of a figure, as plotly writes it, in GB/s where numbers on its axis exceed 9,999 MB/s.

    Hover texts, small print and names tell the same numbers with the same digits.

    Parameters
    ----------
    spec : ``data`` and ``layout``; changed in place.

    Returns
    -------
    Whether anything changed.
    """
    layout, traces = spec["layout"], spec["data"]
    axis = layout.get("yaxis") or {}
    if f"({SMALL})" not in str(axis.get("title") or "") or any("yaxis" in trace for trace in traces):
        return False
    heights = [y for trace in traces for y in data.values(trace.get("y")) if isinstance(y, int | float)]
    if not heights or max(heights) <= MOST_MB:
        return False
    for trace in traces:
        trace["y"] = _scaled(data.values(trace.get("y")), 1e-3)
        error = trace.get("error_y") or {}
        for side in ("array", "arrayminus"):
            if side in error:
                error[side] = _scaled(data.values(error[side]), 1e-3)
        template = str(trace.get("hovertemplate") or "")
        bare = {int(n) for n in re.findall(rf"%\{{customdata\[(\d+)\]\}} {SMALL}", template)}
        if template:
            trace["hovertemplate"] = in_gigabytes(template.replace(f"}} {SMALL}", f"}} {LARGE}"))
        if isinstance(trace.get("customdata"), list):
            trace["customdata"] = [
                [_thousandth(cell) if n in bare else in_gigabytes(cell) for n, cell in enumerate(row)]
                if isinstance(row, list)
                else row
                for row in trace["customdata"]
            ]
        if trace.get("name"):
            trace["name"] = in_gigabytes(str(trace["name"]))
    for shape in ("range", "tickvals", "ticktext"):
        axis.pop(shape, None)
    for name in [name for name in layout if name.startswith(("xaxis", "yaxis"))]:
        title = layout[name].get("title")
        if isinstance(title, dict):
            title["text"] = in_gigabytes(str(title.get("text") or "")).replace(f"({SMALL})", f"({LARGE})")
    meta = layout.get("meta") or {}
    if notes := meta.get(small_print.NOTES):  # the title of their axis may break a range between its numbers
        for one in notes:
            one["text"] = in_gigabytes(one["text"], digits=3)
        layout[meta[small_print.AXIS]]["title"]["text"] = small_print.rendered(
            in_gigabytes(meta[small_print.TITLE]), small_print.read(notes)
        )
    return True


def in_gigabytes(text: Any, digits: int = 0) -> Any:
    """Return a text with values in GB/s in place of MB/s; other text stays.

    Parameters
    ----------
    digits : digits of each number; 0 for those that it has.

    Examples
    --------
    >>> in_gigabytes("12,920 MB/s [10,650 to 13,060 MB/s]")
    '12.920 GB/s [10.650 to 13.060 GB/s]'
    >>> in_gigabytes("bound: 33,770 to 91,680 MB/s", digits=3)
    'bound: 33.8 to 91.7 GB/s'
    """
    if not isinstance(text, str):
        return text
    return _VALUES.sub(lambda found: f"{_NUMBER.sub(lambda one: _thousandth(one[0], digits), found[1])} {LARGE}", text)


def _thousandth(text: Any, digits: int = 0) -> Any:
    """Return a written number over 1000, with this many digits; 0 for the same."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        return text
    if digits:
        return format_number(float(text.replace(",", "")) / 1000, digits=digits)
    return f"{Decimal(text.replace(',', '')).scaleb(-3):,f}"


def _scaled(values: Any, times: float) -> Any:
    """Values times a factor; gaps stay."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values * times
    return None if values is None else [None if value is None else value * times for value in values]


def _hover(template: str, unit: str) -> str:
    """Return a hover text with the value in the axis's unit, without further values in the old unit."""
    text, mark, extra = template.partition("<extra>")
    first, *lines = text.split("<br>")
    words = first.partition("</b>")[2]
    kept = [line for line in lines if not _OF_VALUES.match(line)]
    return "<br>".join([f"<b>%{{y:,.4~g}} {unit}</b>{words}", *kept]) + mark + extra
