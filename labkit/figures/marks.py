"""Mark break points and the library's own limits in a figure against message size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from labkit.figures.plotly import go
from labkit.judge.protocol import Break
from labkit.point.units import format_share, format_size

_BREAK, _LIMIT = "#d55e00", "#555555"
_LETTER = 6.8  # px of a letter at 12 px
_ROW = 16  # px between rows of labels


def mark_breaks(
    figure: go.Figure, breaks: Sequence[Break] = (), variables: Mapping[str, float] | None = None
) -> go.Figure:
    """Draw dashed lines at break points and dotted ones at the library's own limits, with labels that keep apart.

    Parameters
    ----------
    figure : from `labkit.figures.versus_size`; it is changed.
    breaks : from `labkit.judge.protocol.breaks`; each is drawn in the middle between its two sizes, on the logarithm.
    variables : name → B, such as ``btl_vader_eager_limit``.

    Returns
    -------
    The same figure, with room above for the labels.
    """
    jumps = ["" if math.isnan(b.jump) else format_share(b.jump, sign=True) if b.abrupt else "bend" for b in breaks]
    places = [math.sqrt(max(b.after, 0.5) * b.before) for b in breaks]
    marks = [(place, jump, _BREAK, "dash") for place, jump in zip(places, jumps, strict=True)]
    marks += [(size, f"{name} {format_size(int(size))}", _LIMIT, "dot") for name, size in (variables or {}).items()]
    low, high = figure.layout.xaxis.range
    marks = sorted(mark for mark in marks if mark[0] > 0 and low <= math.log10(mark[0]) <= high)
    width = figure.layout.width - figure.layout.margin.l - figure.layout.margin.r if figure.layout.margin.l else 640
    ends: list[float] = []  # px where the last label of each row ends
    for x, text, colour, dash in marks:
        begin = (math.log10(x) - low) / (high - low) * width
        length = _LETTER * len(text)
        to_left = begin + length > width
        start = begin - length if to_left else begin
        row = next((n for n, end in enumerate(ends) if end <= start), len(ends))
        ends[row : row + 1] = [start + length + _LETTER]
        figure.add_vline(x, line={"color": colour, "width": 1.2, "dash": dash})
        figure.add_annotation(
            x=math.log10(x),
            xref="x",
            y=1,
            yref="paper",
            yshift=row * _ROW,
            text=text,
            showarrow=False,
            xanchor="right" if to_left else "left",
            yanchor="bottom",
            font={"size": 12, "color": colour},
        )
    return _room(figure, len(ends))


def _room(figure: go.Figure, rows: int) -> go.Figure:
    """Raise legend and upper margin above the labels."""
    if rows:
        extra = rows * _ROW + 4
        height = figure.layout.height or 400
        figure.update_layout(
            height=height + extra,
            margin={"t": 20 + extra + (24 if figure.layout.showlegend else 0)},
            legend={"y": 1.02 + extra / (height - 120)},
        )
    return figure
