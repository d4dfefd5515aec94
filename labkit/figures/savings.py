"""Draw how much of a whole cheaper parts would save."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.path import LINE, QUIET, print_below
from labkit.figures.plotly import go, make_subplots
from labkit.models.breakdown import Time
from labkit.point.units import format_number

Curve = Sequence[tuple[float, Time]]
_PANEL, _TEN_TIMES = 300, 90  # px of a panel; % cheaper that is ten times cheaper


def saving(panels: Mapping[str, Mapping[str, Curve]], note: str = "") -> go.Figure:
    """Draw the share of a whole that is saved when one of its components becomes cheaper, a line for each.

    Parameters
    ----------
    panels : title of a whole → component → reductions, %, each with what it saves of the whole, %, as from
        `labkit.models.what_if.curves`. Two panels share their vertical axis; more have their own.
    note : small print below the axis, such as the source.

    Raises
    ------
    DataError
        If there is no component.
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    if not names:
        raise DataError("There are no components to draw. Give components with their shares.")
    look_of = {look.series: look for look in looks.named(names)}
    columns, rows = min(2, len(panels)), -(-len(panels) // 2)
    figure = make_subplots(
        rows,
        columns,
        shared_yaxes=rows == 1,
        subplot_titles=list(panels),
        horizontal_spacing=0.06 if rows == 1 else 0.1,
        vertical_spacing=0.16,
    )
    drawn: set[str] = set()
    for n, (title, lines) in enumerate(panels.items()):
        place = {"row": n // 2 + 1, "col": n % 2 + 1}
        for name, curve in lines.items():
            figure.add_trace(_line(name, title, curve, look_of[name], first=name not in drawn), **place)
            drawn.add(name)
        figure.add_vline(_TEN_TIMES, line={"color": "#555", "width": 1, "dash": "dot"}, **place)
        figure.add_annotation(
            x=_TEN_TIMES - 1,
            y=1,
            yref="y domain",
            yanchor="top",
            xanchor="right",
            text="10 times cheaper",
            showarrow=False,
            font=QUIET,
            **place,
        )
        figure.update_xaxes(range=[0, 102], **place)
        if place["row"] == rows or n + 2 >= len(panels):
            figure.update_xaxes(title={"text": "component cheaper by (%)"}, **place)
        if place["col"] == 1:
            figure.update_yaxes(title={"text": "saved of the whole (%)"}, **place)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(margin={"t": 110, "b": 90}, legend={"y": 1 + 0.13 / rows})
    print_below(figure, textwrap.wrap(note, LINE), 55)
    return style.finish(figure, height=170 + _PANEL * rows)


def _line(name: str, title: str, curve: Curve, look: looks.Look, *, first: bool) -> go.Scatter:
    """Return the line of a component, with the intervals over launches where its times have any."""
    times = [time for _, time in curve]
    ends = [time.interval for time in times]
    line = go.Scatter(
        x=[step for step, _ in curve],
        y=[time.value for time in times],
        mode="lines",
        name=f"{name} (modelled)",
        line={"color": look.colour, "width": 2, "dash": style.ORIGINS["modelled"].dash},
        meta=look.meta | {"panel": title},
        legendgroup=name,
        showlegend=first,
        **style.hover(
            ["%{name} %{step} % cheaper: %{whole} %{less} % less"],
            {"interval": [_interval(time) for time in times]},
            name=[name],
            whole=[title],
            step=[f"{step:g}" for step, _ in curve],
            less=[format_number(time.value, digits=3) for time in times],
        ),
    )
    if not any(math.isnan(low) for low, _ in ends):
        line.error_y = {
            "type": "data",
            "symmetric": False,
            "array": [high - time.value for time, (_, high) in zip(times, ends, strict=True)],
            "arrayminus": [time.value - low for time, (low, _) in zip(times, ends, strict=True)],
            "thickness": 1.2,
            "width": 3,
            "color": look.colour,
        }
    return line


def _interval(time: Time) -> str:
    low, high = time.interval
    return f"{format_number(low, digits=3)} to {format_number(high, digits=3)} %, {time.basis}" if time.basis else ""
