"""Points of measured values beside published ones, each kind in its own style."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.units import format_number


def measured_and_published(
    measured: Mapping[str, float],
    published: Mapping[str, float],
    *,
    title: str,
    factor: float = 1.0,
    source: str = "",
    origin: str = "measured",
) -> go.Figure:
    """Draw a point for each measured (or simulated) and each published value on a logarithmic axis, with its number.

    Parameters
    ----------
    measured, published : name → value.
    title : title of the axis, with its unit.
    factor : from the values' unit to that of the axis.
    source : source of the published ones.
    origin : origin of `measured`, as in `labkit.store.samples.ORIGINS`.

    Raises
    ------
    DataError
        If nothing was measured.
    """
    if not measured:
        raise DataError("There are no measured values to draw beside the published ones. Measure first.")
    figure = go.Figure()
    origins = ((origin, measured), ("published", published))
    for n, ((kind, values), look) in enumerate(zip(origins, looks.named([o for o, _ in origins]), strict=True)):
        figure.add_scatter(
            x=list(values),
            y=[factor * value for value in values.values()],
            name=f"{kind} ({source})" if source and n else kind,
            mode="markers+text",
            marker=style.marker(kind, look) | {"size": 10},
            meta=look.meta,
            text=[format_number(factor * value) for value in values.values()],
            textposition="middle right",
            hovertemplate="%{x}: %{text}<extra>%{fullData.name}</extra>",
            cliponaxis=False,
        )
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": "path"}},
        yaxis={"type": "log", "title": {"text": title}},
        showlegend=True,
    )
    return style.finish(figure)
