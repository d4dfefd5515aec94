"""Draw ratios of pairs of starts as dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.errors import DataError
from labkit.figures import axes, looks, style
from labkit.figures.plotly import go
from labkit.point.notes import note
from labkit.point.units import format_number


def ratios(groups: Mapping[str, Sequence[float]], title: str) -> go.Figure:
    """Draw a row of dots for each name on a logarithmic axis, with a line at 1.

    Parameters
    ----------
    groups : name → ratios, all above 0.
    title : title of the axis to the right.

    Raises
    ------
    DataError
        If there is none, or one is not above 0.
    """
    values = [value for row in groups.values() for value in row]
    if not values or min(values) <= 0:
        raise DataError("Ratios must be above 0 and there must be at least one. Measure some pairs.")
    figure = go.Figure()
    for (name, row), look in zip(groups.items(), looks.named(list(groups)), strict=True):
        figure.add_trace(
            go.Scatter(
                x=list(row),
                y=[name] * len(row),
                name=name,
                mode="markers",
                showlegend=False,
                meta=look.meta,
                marker=style.marker("measured", look) | {"size": 9, "opacity": 0.75},
                **style.hover(["pair %{pointNumber}: %{value} times"], value=[format_number(value) for value in row]),
            )
        )
    figure.add_vline(1, line={"color": "#555", "width": 1.2, "dash": "dash"})
    shown = axes.rounds(min([0.8, *values]) / 2, max([1.25, *values]) * 2)
    figure.update_layout(
        xaxis={
            "type": "log",
            "title": {"text": title},
            "tickvals": shown,
            "ticktext": [format_number(tick) for tick in shown],
        },
        yaxis={"type": "category", "autorange": "reversed", "automargin": True, "title": {"text": ""}},
    )
    return style.finish(
        figure,
        note("dot", "a dot: one pair of starts"),
        note("dashed", "dashed: no difference"),
        height=170 + 34 * len(groups),
    )
