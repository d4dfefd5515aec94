"""Draw points over campaigns: each value as a part of the first level, with the places where it changed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.judge.history import History, Series
from labkit.point.columns import METRICS
from labkit.point.notes import note
from labkit.point.units import format_number, format_range

_LABELS = 12  # of the axis, at most


def timeline(history: History, series: Sequence[Series]) -> go.Figure:
    """Draw series over the campaigns of a history, relative to the level before their first change.

    Parameters
    ----------
    history : history with the campaigns in the order of time.
    series : its series, one line each. Values that are not above 0 are left out.

    Raises
    ------
    DataError
        If there is no series.
    """
    shown = [one for one in series if one.levels[0][2] > 0]
    if not shown:
        raise DataError("There is no series to draw. Name campaigns that have a point in common.")
    figure = go.Figure()
    for one, look in zip(shown, looks.named([one.name for one in shown]), strict=True):
        base, unit = one.levels[0][2], METRICS[one.metric].unit
        values = [moment.value / base for moment in one.moments]
        figure.add_scatter(
            x=[moment.run for moment in one.moments],
            y=values,
            error_y={
                "array": [_distance(m.high - m.value, base) for m in one.moments],
                "arrayminus": [_distance(m.value - m.low, base) for m in one.moments],
                "symmetric": False,
            },
            mode="lines+markers",
            line={"color": look.colour, "width": 1},
            marker=style.marker("measured", look),
            name=style.plain(one.name),
            meta=look.meta,
            customdata=[
                [
                    style.plain(m.name),
                    format_number(m.value, unit, width=m.high - m.low),
                    format_range(m.low, m.high),
                    m.launches,
                    m.created[:16].replace("T", " "),
                ]
                for m in one.moments
            ],
            hovertemplate="%{customdata[0]}, %{customdata[4]}<br>%{customdata[1]} (%{customdata[2]}), "
            "%{customdata[3]} launches",
        )
    dashes = {"dot": [(one, cut) for one in shown for cut in one.candidates]}
    dashes["dash"] = [(one, cut) for one in shown for cut in one.changes]
    for dash, cuts in dashes.items():
        for place in sorted({one.moments[end].run for one, cut in cuts for end in (cut.place, cut.back) if end}):
            figure.add_vline(place - 0.5, line={"color": "#555", "width": 1.2, "dash": dash})
    ticks = list(range(0, len(history.runs), -(-len(history.runs) // _LABELS)))
    figure.update_layout(
        xaxis={
            "title": {"text": "campaign, by date"},
            "tickvals": ticks,
            "ticktext": [style.plain(history.runs[place].created[:10] or history.runs[place].name) for place in ticks],
        },
        yaxis={"title": {"text": "value as a part of the first level"}},
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(
        figure,
        note("bars", "bars: interval or range over launches"),
        note("dashed", "dashed: a change between two campaigns" + (", dotted: a candidate" if dashes["dot"] else "")),
    )


def _distance(value: float, base: float) -> float | None:
    """Length of a bar; None without an interval."""
    return None if math.isnan(value) else value / base
