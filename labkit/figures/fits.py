"""Measured times against message size with the lines that were fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.errors import DataError
from labkit.figures import axes, looks, style
from labkit.figures.plotly import go
from labkit.figures.points import error_bars
from labkit.point.notes import note
from labkit.point.units import format_number, format_range, format_size

_US = 1e6


@dataclass(frozen=True)
class Fit:
    """One quantity.

    Parameters
    ----------
    sizes : (sizes,), B.
    seconds : (launches, sizes), s: one median of each launch.
    lines : ends of each line: sizes and times, B and s.
    """

    sizes: Sequence[int]
    seconds: NDArray[np.float64]
    lines: Sequence[tuple[tuple[float, float], tuple[float, float]]]


def fits(quantities: Mapping[str, Fit]) -> go.Figure:
    """Draw medians over launches with their intervals, and each fitted line as a dashed one.

    Parameters
    ----------
    quantities : name in the legend → its times and lines.

    Raises
    ------
    DataError
        If there is nothing to draw.
    """
    if not quantities:
        raise DataError("There are no times to draw. Measure first.")
    figure, sizes = go.Figure(), sorted({size for one in quantities.values() for size in one.sizes})
    label = stats.launches_label(len(next(iter(quantities.values())).seconds))
    for (name, one), look in zip(quantities.items(), looks.named(list(quantities)), strict=True):
        centre, low, high = (values * _US for values in stats.aggregate(one.seconds))
        marker = style.marker("measured", look)
        about = style.hover(
            ["<b>%{value} µs</b> median"],
            {
                "size": [format_size(size) for size in one.sizes],
                "interval": [format_range(a, b) for a, b in zip(low, high, strict=True)],
            },
            value=[format_number(value, width=b - a) for value, a, b in zip(centre, low, high, strict=True)],
        )
        figure.add_scatter(
            x=list(one.sizes),
            y=centre.tolist(),
            error_y=error_bars(low, centre, high, look.colour),
            mode="markers",
            marker=marker,
            name=name,
            legendgroup=name,
            meta=look.meta,
            **about,
        )
        for (first, begin), (last, end) in one.lines:
            x = np.geomspace(max(first, 1), max(last, 1), 40)  # a straight line is a curve on logarithmic axes
            y = begin + (end - begin) * (x - first) / max(last - first, 1)
            figure.add_scatter(
                x=x.tolist(),
                y=[value * _US if value > 0 else None for value in y],
                mode="lines",
                line={"color": look.colour, "dash": style.ORIGINS["modelled"].dash, "width": 1.5},
                name=f"{name} (fitted)",
                legendgroup=name,
                showlegend=False,
                meta=look.meta,
                hoverinfo="skip",
            )
    bars = "" if label == "1 launch" else f"bars: {label}"
    figure.update_layout(
        xaxis=axes.sizes(sizes, "message size (B)"),
        yaxis={"type": "log", "title": {"text": "time, median (µs)"}},
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(figure, note("bars", bars), note("dashed", "dashed: fitted lines"))
