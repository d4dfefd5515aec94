"""Draw the time of each launch of several settings as a dot, so that a single lucky launch is visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.notes import note
from labkit.point.units import format_number, plural

_FAR = 20  # a value over the median of all, from which it is drawn at the end of the axis


def rounds(
    values: Mapping[str, Sequence[float]], axis: str, *, marked: Mapping[str, int] | None = None, why: str = ""
) -> go.Figure:
    """Draw a column of dots for each setting, with the median over its launches.

    Parameters
    ----------
    values : setting → one value of each launch, in order.
    axis : what is drawn, with its unit.
    marked : setting → place of the launch that is drawn larger, in another colour.
    why : what such a dot is, for the axis.

    Raises
    ------
    DataError
        If there is no launch.
    """
    if not values or not all(map(len, values.values())):
        raise DataError("There is no launch to draw. Measure first.")
    figure = go.Figure()
    plain, special = looks.named(["launch", "marked launch"])
    top = _top(values.values())
    beyond = sum(value > top for launches in values.values() for value in launches)
    for place, (name, launches) in enumerate(values.items()):
        order = np.arange(1, len(launches) + 1)
        chosen = (marked or {}).get(name, -1)
        drawn = [special if n == chosen else plain for n in range(len(launches))]
        middle = float(np.median(launches))
        # dots beside one another, in the order of the launches
        x = place + (order - order.mean()) * 0.6 / max(len(launches) - 1, 1)
        figure.add_scatter(
            x=x,
            y=np.minimum(launches, top),
            name=name,
            mode="markers",
            marker={
                "color": [one.colour for one in drawn],
                "symbol": [one.shape if y <= top else "arrow-up" for one, y in zip(drawn, launches, strict=True)],
                "size": [
                    13 if one is special else 10 if y > top else 7 for one, y in zip(drawn, launches, strict=True)
                ],
            },
            text=[f"{name}, launch {n}: {format_number(value)}" for n, value in enumerate(launches, 1)],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
        count = plural(len(launches), "launch")
        figure.add_scatter(
            x=[place - 0.4, place + 0.4],
            y=[middle, middle],
            mode="lines",
            line={"color": "#555", "width": 1.5, "dash": "dot"},
            hovertemplate=f"{name}: median {format_number(middle)} of {count}<extra></extra>",
            showlegend=False,
        )
    most = format_number(max(map(max, values.values())))
    notes = [
        *([note("large", f"large: {why}")] if why else []),
        *([note("arrow", f"arrow: beyond the axis ({beyond} of all launches, up to {most})")] if beyond else []),
        note("order", "from left to right: launches in order"),
        note("dotted", "dotted: their median"),
    ]
    figure.update_layout(
        xaxis={
            "tickvals": list(range(len(values))),
            "ticktext": list(values),
            "title": {"text": "setting"},
        },
        yaxis={"title": {"text": axis}},
    )
    return style.finish(figure, *notes)


def _top(values: Iterable[Sequence[float]]) -> float:
    """Return the end of the axis: a launch far above the usual one would hide how the others differ."""
    every = np.concatenate([np.asarray(launches, float) for launches in values])
    usual = every[every <= _FAR * np.median(every)]
    return float(every.max()) if len(usual) in (0, len(every)) else 1.1 * float(usual.max())
