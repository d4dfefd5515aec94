"""Draw factors with their intervals around the line of 1, and how the times of phases are distributed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from labkit.errors import DataError
from labkit.figures import axes, looks, style
from labkit.figures.plotly import go
from labkit.point.notes import note
from labkit.point.units import format_exact, format_number


def factors(table: pd.DataFrame, category: str, series: str, *, title: str, label: str = "") -> go.Figure:
    """Draw a factor per category and series with its interval; the dashed line is 1.

    Parameters
    ----------
    table : table with factor, low, high, label (what the interval is), and the two columns named.
    category : column whose values stand side by side.
    series : column whose values have a colour each.
    title : title of the upward axis.
    label : label of the axis to the right; the column's name when left out.

    Raises
    ------
    DataError
        If there is nothing to draw, or a column is missing.
    """
    missing = [name for name in (category, series, "factor", "low", "high", "label") if name not in table]
    if missing or table.empty:
        raise DataError(f"No factors to draw: the table has no {', '.join(missing) or 'row'}. Measure first.")
    figure = go.Figure()
    parts = list(table.groupby(series, sort=False))
    for n, ((name, rows), look) in enumerate(zip(parts, looks.named([str(name) for name, _ in parts]), strict=True)):
        marker = style.marker("measured", look)
        ends = {"array": (rows["high"] - rows["factor"]), "arrayminus": (rows["factor"] - rows["low"])}
        number = partial(format_number, digits=3)
        intervals = [
            str(meaning) if math.isnan(low) else f"{number(low)} to {number(high)} ({meaning})"
            for low, high, meaning in zip(rows["low"], rows["high"], rows["label"], strict=True)
        ]
        figure.add_scatter(
            x=[format_exact(v) if isinstance(v, float) else style.plain(str(v)) for v in rows[category]],
            y=rows["factor"].tolist(),
            name=style.plain(str(name)),
            mode="markers",
            marker=marker,
            offsetgroup=f"{n}",
            meta=look.meta,
            error_y={"type": "data", "symmetric": False, "color": marker["color"], "thickness": 1.2, "width": 3}
            | {side: np.nan_to_num(values.to_numpy(float)).clip(0).tolist() for side, values in ends.items()},
            **style.hover(
                ["%{times} times, %{category} %{x}"],
                {"interval": intervals},
                category=[category],
                times=[number(v) for v in rows["factor"]],
            ),
        )
    figure.add_hline(1, line={"color": "#555", "width": 1.2, "dash": "dash"})
    meanings = list(dict.fromkeys(str(text) for text in table["label"]))
    bars = f"bars: {', '.join(meanings)}"
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": label or category}},
        yaxis={"type": "log", "title": {"text": title}, **_ticks(table)},
        scattermode="group",
        showlegend=True,
    )
    return style.finish(figure, note("bars", bars), note("dashed", "dashed: no change"))


def _ticks(table: pd.DataFrame) -> dict[str, Sequence[float] | Sequence[str]]:
    """Return ticks at round factors, and a range that holds every interval."""
    ends = pd.concat([table["factor"], table["low"], table["high"]]).dropna()
    low, high = min(float(ends.min()), 0.9), max(float(ends.max()), 1.1)
    low = max(low, float(table["factor"].min()) / 10, 1e-3)
    room = 0.06 * np.log10(high / low) + 0.01
    fine = (0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2)
    steps = fine if high / low < 2.5 else [m * 10.0**k for k in range(-3, 3) for m in (1, 1.5, 2, 3, 5, 7)]
    steps = steps if high / low < 12 else axes.rounds(low * 0.95, high * 1.05)
    shown = [step for step in steps if low * 0.95 <= step <= high * 1.05]
    return {
        "range": [float(np.log10(low) - room), float(np.log10(high) + room)],
        "tickvals": shown,
        "ticktext": [format_number(step) for step in shown],
    }


def phases(times: dict[str, np.ndarray], *, title: str, small: str) -> go.Figure:
    """Draw the share of times above each time, a line per phase, so that tails show.

    Parameters
    ----------
    times : name → all times of a phase, in the unit of the title.
    title : title of the axis to the right.
    small : small print below it.
    """
    figure = go.Figure()
    for (name, values), look in zip(times.items(), looks.named(list(times)), strict=True):
        x = np.sort(np.asarray(values, np.float64).ravel())
        above = 1 - np.arange(len(x)) / len(x)
        tail = np.unique(len(x) - 1 - np.geomspace(1, len(x), 250).astype(int).clip(1, len(x)) + 1)
        places = np.unique(np.concatenate([np.linspace(0, len(x) - 1, 250).astype(int), tail]))
        figure.add_scatter(
            x=[float(f"{value:.6g}") for value in x[places]],
            y=[float(f"{value:.4g}") for value in above[places]],
            name=name,
            mode="lines",
            line={"color": look.colour, "width": 1.8, "shape": "hv"},
            meta=look.meta,
            **style.hover(
                ["%{share} % take longer than %{value}"],
                value=[format_number(float(v)) for v in x[places]],
                share=[format_number(100 * float(v), digits=3) for v in above[places]],
            ),
        )
    shares = [1, 0.1, 0.01, 0.001, 1e-4]
    least = min((1 / np.asarray(values).size for values in times.values()), default=1e-3)
    figure.update_layout(
        xaxis={"type": "log", "title": {"text": title}, "dtick": "D2"},
        yaxis={
            "type": "log",
            "title": {"text": "share of times that are longer"},
            "tickvals": shares,
            "ticktext": ["100 %", "10 %", "1 %", "0.1 %", "0.01 %"],
            "range": [float(np.log10(least)), 0.1],
        },
        hovermode="closest",
        showlegend=True,
    )
    return style.finish(figure, note("phases", small))
