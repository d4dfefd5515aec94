"""Draw what each of several streams got, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.columns import METRICS
from labkit.point.spec import Reported
from labkit.point.units import format_number
from labkit.store.samples import Samples

_MANY = 12  # streams; more leave no room for words


def streams(samples: Sequence[Samples], metric: str) -> go.Figure:
    """Draw a bar for every stream that a tool reported, a colour for each launch and testbed.

    Parameters
    ----------
    samples : samples with reported values that have a rank, the stream's number.
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
    every = [_streams(launch, metric) for launch in ordered]
    single = all(len({v.labels.get("sender") for v in some}) == len(some) for some in every)
    many = max(map(len, every), default=0) > _MANY
    axis = ("sender" if single else "sender/stream") if many else "stream"
    for launch, values, look in zip(ordered, every, looks.named(names), strict=True):
        if not values:
            continue
        labels = [_label(v, single=single, many=many) for v in values]
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
        xaxis={"type": "category", "title": {"text": axis}},
        yaxis={"rangemode": "tozero", "title": {"text": f"{label} of a stream ({unit})"}},
        barmode="group",
        bargap=0.3,
        showlegend=len(figure.data) > 1,
    )
    return style.finish(figure)


def _streams(launch: Samples, metric: str) -> list[Reported]:
    """The values of single streams, in order."""
    values = [v for v in launch.reported if v.name == metric and v.rank is not None and v.t is None]
    return sorted(values, key=lambda v: v.rank or 0)


def _label(value: Reported, *, single: bool, many: bool) -> str:
    """The name of a stream on the axis: of many, only numbers have room."""
    sender = style.plain(str(value.labels.get("sender", "?")))
    if many:
        return sender if single else f"{sender}/{value.rank}"
    return f"sender {sender}" if single else f"sender {sender}<br>stream {value.rank}"
