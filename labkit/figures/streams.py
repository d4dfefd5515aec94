"""Draw what each of several streams got, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.columns import METRICS
from labkit.point.units import format_number
from labkit.store.samples import Samples


def streams(samples: Sequence[Samples], metric: str) -> go.Figure:
    """Draw a bar for every stream that a tool reported, a colour for each launch and testbed.

    Parameters
    ----------
    samples : with reported values that have a rank, the stream's number.
    metric : as in `labkit.point.columns.METRICS`.

    Raises
    ------
    DataError
        If there is no such value.
    """
    label, unit, figure = METRICS[metric].label, METRICS[metric].unit, go.Figure()
    several = len({launch.spec.testbed for launch in samples}) > 1
    ordered = sorted(samples, key=lambda s: (s.spec.testbed, s.launch))
    names = [
        f"{style.plain(launch.spec.testbed)}, launch {launch.launch}" if several else f"launch {launch.launch}"
        for launch in ordered
    ]
    for launch, look in zip(ordered, looks.named(names), strict=True):
        values = [v for v in launch.reported if v.name == metric and v.rank is not None and v.t is None]
        values.sort(key=lambda v: v.rank or 0)
        if not values:
            continue
        labels = [
            f"sender {style.plain(str(v.labels.get('sender', '?')))}"
            + (f"<br>stream {v.rank}" if len(values) <= 12 else f", {v.rank}")
            for v in values
        ]
        figure.add_trace(
            go.Bar(
                x=labels,
                y=[v.value for v in values],
                name=look.series,
                marker=style.bar(launch.origin, look),
                meta=look.meta,
                **style.hover([f"%{{x}}: %{{value}} {unit}"], value=[format_number(v.value) for v in values]),
            )
        )
    if not figure.data:
        raise DataError(f"No stream has a value of {metric}. Give samples of a benchmark with streams.")
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": "stream"}},
        yaxis={"rangemode": "tozero", "title": {"text": f"{label} of a stream ({unit})"}},
        barmode="group",
        bargap=0.3,
        showlegend=len(figure.data) > 1,
    )
    return style.finish(figure)
