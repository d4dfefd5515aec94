"""Draw what a path allows into a figure of measured values: a line of its own, named after what binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labkit.columns import METRICS
from labkit.figures import axes, style
from labkit.figures._plotly import go
from labkit.figures.overlay import subject
from labkit.models.limits import Limit
from labkit.units import format_number, format_range, format_size

_COLOUR = "#333"
_DASHES = ("dash", "dashdot", "longdashdot", "dot")
_ROW, _SMALL = 30, 20  # px of a row of the legend, and of a line of small print
_FAR = 4.0  # a linear axis reaches to a bound of at most so many times the highest value
_DECADES = 100.0  # a logarithmic axis likewise


def bounded(figure: go.Figure, limits: Sequence[Limit]) -> go.Figure:
    """Return a figure with the bounds of its points; the figure itself stays as it is.

    A line that lies so far from all values that these could no longer be read is named below the axis instead.

    Parameters
    ----------
    figure : from `labkit.figures.versus_size`.
    limits : from `labkit.models.limits.of`; those of another metric are left out.

    Raises
    ------
    SpecError
        If it is another kind of figure.
    """
    about = subject(figure)
    drawn = go.Figure(figure)
    fitting = [one for one in limits if one.metric == about["metric"] and one.values]
    if about["axis"] != "sizes" or not fitting:
        return drawn
    heights = _heights(figure)
    near = [one for one in fitting if _near(one, heights)]
    for number, one in enumerate(near):
        drawn.add_trace(_trace(one, _label(one, fitting), number, about["sizes"]))
        drawn.data[-1].uid = f"t{len(drawn.data) - 1}"
    notes = [_note(one, _label(one, fitting)) for one in fitting if one not in near]
    if any(one.measured for one in near):
        notes.append("measured bounds are of this machine's cores, caches and kernel")
    title = drawn.layout.xaxis.title.text or ""
    more = _ROW * bool(near) + _SMALL * len(notes)
    drawn.update_layout(
        xaxis_title_text=style.note(title, *notes),
        showlegend=bool(near) or figure.layout.showlegend,
        height=(figure.layout.height or style.HEIGHT) + more,
    )
    return drawn


def _heights(figure: go.Figure) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All values of a figure that are numbers above 0."""
    values = [y for trace in figure.data if trace.y is not None for y in trace.y if y is not None]
    heights = np.array(values, np.float64)
    return heights[heights > 0]


def _near(limit: Limit, heights: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether a line leaves room for the values of the figure."""
    if not heights.size:
        return True
    if limit.kind == "bound":
        return max(limit.values.values()) <= _FAR * float(heights.max())
    return min(limit.values.values()) * _DECADES >= float(heights.min())


def _label(limit: Limit, limits: Sequence[Limit]) -> str:
    """Name of a line; with its benchmarks where another line has the same name."""
    alike = [one for one in limits if one.name == limit.name]
    whose = f" of {', '.join(limit.benchmarks)}" if len(alike) > 1 else ""
    return f"{limit.kind}: {limit.name}{whose}{' (measured)' if limit.measured else ''}"


def _trace(limit: Limit, label: str, number: int, sizes: Sequence[int]) -> go.Scatter:
    """The line; a single point becomes a short line."""
    unit, smallest = METRICS[limit.metric].unit, min((size for size in sizes if size > 0), default=1)
    known = list(limit.values.items())
    x = [axes.place(size, smallest) for size, _ in known]
    y = [value for _, value in known]
    fields = {"size": [format_size(size) for size, _ in known], "how": [limit.formulas[size] for size, _ in known]}
    about = style.hover([f"<b>%{{value}} {unit}</b>"], fields, value=[format_number(value) for value in y])
    if len(x) == 1:
        x, y = [x[0] / 1.4, x[0], x[0] * 1.4], y * 3
        about["customdata"] = about["customdata"] and list(about["customdata"]) * 3
    return go.Scatter(
        x=x,
        y=y,
        name=style.plain(label),
        mode="lines",
        line={"color": _COLOUR, "width": 1.5, "dash": _DASHES[number % len(_DASHES)]},
        meta={"bound": limit.name, "overlay": True},
        legendgroup=label,
        showlegend=True,
        **about,
    )


def _note(limit: Limit, label: str) -> str:
    """What stands below the axis instead of a line."""
    low, high = min(limit.values.values()), max(limit.values.values())
    values = format_number(low) if low == high else format_range(low, high)
    side = "above" if limit.kind == "bound" else "below"
    return f"{label} lies far {side}: {values} {METRICS[limit.metric].unit}"
