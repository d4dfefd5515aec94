"""Draw two measurements of the same pairs against each other: a pair that is slow in both is bad."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.notes import note
from labkit.point.units import format_number

MANY = 5000  # pairs of a kind that are all drawn
_GRID = 200  # cells of a side, about 3 px
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
    first, again : (ranks, ranks), s, as `labkit.judge.all_pairs.matrix` gives them; both directions are averaged.
    hosts : hosts of every rank.
    limits : limits of the first and of the second measurement, s.
    causes : bad pair, the lower rank first → its cause.

    Raises
    ------
    DataError
        If the two are not of the same ranks.
    """
    if first.shape != again.shape or len(first) != len(hosts):
        raise DataError(f"The times have shapes {first.shape} and {again.shape}, but there are {len(hosts)} hosts.")
    x, y = (1e6 * (one + one.T) / 2 for one in (first, again))
    known = np.triu(~np.isnan(x + y), 1)
    figure = go.Figure()
    names = [_SOUND, *dict.fromkeys(causes.values())]
    drawn = 0
    for name, look in zip(names, looks.named(names), strict=True):
        pairs = _apart(x, y, _of_cause(name, known, causes))
        drawn += len(pairs)
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
    values = np.concatenate([x[known], y[known], [1e6 * limit for limit in limits if not math.isnan(limit)]])
    ends = [np.log10(values.min()) - 0.06, np.log10(values.max()) + 0.06] if len(values) else [0, 1]
    for limit, draw in zip(limits, (figure.add_vline, figure.add_hline), strict=True):
        if not math.isnan(limit):
            draw(1e6 * limit, line={"color": "#555", "width": 1.2, "dash": "dash"})
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8) if ends[1] - ends[0] < 1 else (1, 2, 5)
    marks = [step * 10**k for k in range(int(ends[0]) - 1, int(ends[1]) + 1) for step in steps]
    ticks = {
        "type": "log",
        "range": ends,
        "tickvals": marks,
        "ticktext": [format_number(mark, digits=3) for mark in marks],
    }
    total = int(known.sum())
    thinned = f"{total:,} pairs; of those that fall on one spot one is drawn" if drawn < total else ""
    figure.update_layout(
        xaxis={"title": {"text": "one-way time, first measurement (µs)"}, **ticks},
        yaxis={"title": {"text": "one-way time, again (µs)"}, **ticks},
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(
        figure,
        note("directions", "mean of both directions"),
        note("dashed", "dashed: from here on a pair is suspicious"),
        note("thinned", thinned),
    )


def _of_cause(name: str, known: NDArray[np.bool_], causes: Mapping[tuple[int, int], str]) -> NDArray[np.int64]:
    """Pairs of a cause, or of none, that have both times, (pairs, 2)."""
    chosen = known.copy() if name == _SOUND else np.zeros_like(known)
    for pair, cause in causes.items():
        chosen[pair] = known[pair] and cause == name
    return np.argwhere(chosen)


def _apart(x: NDArray[np.float64], y: NDArray[np.float64], pairs: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Pairs to draw: all, or of more than `MANY` the first in each cell of a grid that is finer than a mark."""
    if len(pairs) > MANY:
        cells = np.zeros(len(pairs), np.int64)
        for times in (x, y):
            values = np.log10(np.maximum(times[tuple(pairs.T)], 1e-9))
            place = (values - values.min()) / max(float(np.ptp(values)), 1e-9) * (_GRID - 1)
            cells = cells * _GRID + place.astype(np.int64)
        pairs = pairs[np.sort(np.unique(cells, return_index=True)[1])]
    return [(one, other) for one, other in pairs.tolist()]
