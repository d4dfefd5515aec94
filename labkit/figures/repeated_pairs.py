"""Draw two measurements of the same pairs against each other: a pair that is slow in both is bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures._plotly import go
from labkit.units import format_number

_SOUND = "not slow twice"


def repeated_pairs(
    first: NDArray[np.float64],
    again: NDArray[np.float64],
    hosts: Sequence[str],
    *,
    limits: Sequence[float],
    causes: Mapping[tuple[int, int], str],
) -> go.Figure:
    """Draw the time of every pair in two measurements; dashed lines are the limits above which a pair is suspicious.

    Parameters
    ----------
    first, again : (ranks, ranks), s, as `labkit.analysis.all_pairs.matrix` gives them; both directions are averaged.
    hosts : of every rank.
    limits : of the first and of the second measurement, s.
    causes : bad pair, the lower rank first → its cause.

    Raises
    ------
    DataError
        If the two are not of the same ranks.
    """
    if first.shape != again.shape or len(first) != len(hosts):
        raise DataError(f"The times have shapes {first.shape} and {again.shape}, but there are {len(hosts)} hosts.")
    x, y = (1e6 * (one + one.T) / 2 for one in (first, again))
    known = np.argwhere(np.triu(~np.isnan(x + y), 1)).tolist()
    figure = go.Figure()
    names = [_SOUND, *dict.fromkeys(causes.values())]
    for name, look in zip(names, looks.named(names), strict=True):
        pairs = [(one, other) for one, other in known if causes.get((one, other), _SOUND) == name]
        if pairs:
            texts = [f"rank {one} on {hosts[one]} with rank {other} on {hosts[other]}" for one, other in pairs]
            figure.add_scatter(
                x=[float(x[pair]) for pair in pairs],
                y=[float(y[pair]) for pair in pairs],
                mode="markers",
                name=name,
                marker=style.marker("measured", look),
                meta=look.meta,
                **style.hover(
                    ["first %{first} µs, again %{again} µs"],
                    {"pair": texts},
                    first=[format_number(float(x[pair])) for pair in pairs],
                    again=[format_number(float(y[pair])) for pair in pairs],
                ),
            )
    values = [float(one[pair]) for one in (x, y) for pair in map(tuple, known)] + [1e6 * v for v in limits if v == v]
    ends = [np.log10(min(values)) - 0.06, np.log10(max(values)) + 0.06] if values else [0, 1]
    for limit, draw in zip(limits, (figure.add_vline, figure.add_hline), strict=True):
        if limit == limit:
            draw(1e6 * limit, line={"color": "#555", "width": 1.2, "dash": "dash"})
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if ends[1] - ends[0] < 1 else (1, 2, 5)
    marks = [step * 10**k for k in range(int(ends[0]) - 1, int(ends[1]) + 1) for step in steps]
    ticks = {
        "type": "log",
        "range": ends,
        "tickvals": marks,
        "ticktext": [format_number(mark, digits=3) for mark in marks],
    }
    small = "mean of both directions; dashed: from here on a pair is suspicious"
    figure.update_layout(
        xaxis={"title": {"text": style.note("one-way time, first measurement (µs)", small)}, **ticks},
        yaxis={"title": {"text": "one-way time, again (µs)"}, **ticks},
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(figure)
