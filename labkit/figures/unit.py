"""Show the values of a figure in another unit of the same quantity."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from labkit.figures.plotly import go
from labkit.point.columns import METRICS
from labkit.point.units import factor

_OF_VALUES = re.compile(r"(interval|p95|p99|p999|max|min): ")  # lines of a hover text with values in the old unit


def in_unit(figure: go.Figure, metric: str, unit: str) -> go.Figure:
    """Return a figure with its values in another unit; the figure itself stays as it is.

    Parameters
    ----------
    figure : with one metric on its upward axis, such as from `labkit.figures.versus_size`.
    metric : as in `labkit.point.columns.METRICS`.
    unit : of `labkit.point.units.OTHER_UNITS`; empty for the metric's own.

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


def _scaled(values: Any, times: float) -> Any:
    """Values times a factor; gaps stay."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values * times
    return None if values is None else [None if value is None else value * times for value in values]


def _hover(template: str, unit: str) -> str:
    """Return a hover text whose value is that of the axis, without further values in the old unit."""
    text, mark, extra = template.partition("<extra>")
    first, *lines = text.split("<br>")
    words = first.partition("</b>")[2]
    kept = [line for line in lines if not _OF_VALUES.match(line)]
    return "<br>".join([f"<b>%{{y:,.4~g}} {unit}</b>{words}", *kept]) + mark + extra
