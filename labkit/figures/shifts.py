"""Draw a comparison: the ratio of every point to the base with its interval, by message size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from labkit.analysis.comparison import Compared, Comparison
from labkit.columns import METRICS
from labkit.errors import DataError
from labkit.figures import axes, looks, style
from labkit.figures._plotly import go
from labkit.notes import joined
from labkit.units import format_number, format_range, format_share, format_size

_FAR = 3.0  # largest ratio over smallest from which ticks are 1, 2, 5, 10, …


def shifts(comparison: Comparison, benchmark: str = "") -> go.Figure:
    """Draw the ratios of a comparison with their 95 % intervals, a series for each side and verdict.

    Parameters
    ----------
    comparison : from `labkit.analysis.comparison.compare`.
    benchmark : to draw; all when left out.

    Raises
    ------
    DataError
        If no point has a ratio.
    """
    rows = [
        one
        for one in comparison.rows
        if benchmark in ("", one.benchmark) and math.isfinite(one.judgement.ratio) and one.judgement.ratio > 0
    ]
    if not rows:
        raise DataError("The comparison has no point with a ratio. Compare a time or a rate that both sides have.")
    series: dict[str, list[Compared]] = {}
    for one in rows:
        series.setdefault(f"{one.side}: {one.judgement.verdict}", []).append(one)
    figure = go.Figure()
    smallest = min((one.size for one in rows if one.size), default=1)
    for (name, group), look in zip(series.items(), looks.named(list(series)), strict=True):
        judged = [one.judgement for one in group]
        marker = style.marker("measured", look)
        figure.add_scatter(
            x=[axes.place(one.size, smallest) for one in group],
            y=[one.ratio for one in judged],
            error_y={
                "array": [_distance(one.ratio_high - one.ratio) for one in judged],
                "arrayminus": [_distance(one.ratio - one.ratio_low) for one in judged],
                "symmetric": False,
                "color": marker["color"],
            },
            mode="markers",
            name=style.plain(name),
            marker=marker,
            meta=look.meta,
            **_hover(group),
        )
    ends = (1 - comparison.relevant, 1 + comparison.relevant)
    figure.add_hrect(*ends, fillcolor="#999", opacity=0.25, line_width=0)
    figure.add_hline(1, line={"color": "#555", "width": 1.2, "dash": "dash"})
    metrics = list(dict.fromkeys(METRICS[one.metric].label for one in rows))
    title = f"{' or '.join(metrics)}, ratio to {style.plain(comparison.sides[0])}"
    relevant = format_share(comparison.relevant)
    small = f"bars: 95 % interval over launches, none with fewer than 4 a side; band: relevant difference, {relevant}"
    figure.update_layout(
        xaxis=axes.sizes([one.size for one in rows], style.note("message size (B)", small)),
        yaxis={"type": "log", "title": {"text": f"{title} (times)"}, **_ticks(rows)},
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(figure)


def _distance(value: float) -> float | None:
    """Length of a bar; None where there is no interval."""
    return value if math.isfinite(value) else None


def _ticks(rows: list[Compared]) -> dict[str, Any]:
    """Ticks of the ratios, where a logarithm of their range would have none."""
    judged = [one.judgement for one in rows]
    values = [v for one in judged for v in (one.ratio, one.ratio_low, one.ratio_high) if math.isfinite(v) and v > 0]
    low, high = min(1.0, *values), max(1.0, *values)
    if high / low >= _FAR:
        places = [step * 10.0**power for power in range(-6, 7) for step in (1, 2, 5)]
    else:
        step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s < 9)
        places = [step * n for n in range(1, 1 + math.ceil(high / step) + 1)]
    places = [one for one in places if low / 1.5 <= one <= high * 1.5]
    room = 0.03 + 0.05 * math.log10(high / low)
    return {
        "tickvals": places,
        "ticktext": [format_number(one) for one in places],
        "range": [math.log10(low) - room, math.log10(high) + room],
    }


def _hover(group: list[Compared]) -> dict[str, Any]:
    """Return the hover text of a series."""
    judged = [one.judgement for one in group]
    fields: dict[str, Sequence[Any]] = {
        "size": [format_size(one.size) for one in group],
        "benchmark": [one.benchmark for one in group],
        "setting": [", ".join(f"{name}={level}" for name, level in one.setting.items()) for one in group],
        "interval": [format_range(one.ratio_low, one.ratio_high) for one in judged],
        "p (Holm)": [one.p_adjusted for one in judged],
        "launches": [f"{one.launches[0]} + {one.launches[1]}" for one in group],
        "order": [one.design for one in judged],
        "badges": [joined(one.badges) for one in group],
    }
    return style.hover(["<b>%{ratio} times</b>"], fields, ratio=[format_number(one.ratio) for one in judged])
