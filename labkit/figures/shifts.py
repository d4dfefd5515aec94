"""Draw a comparison: the ratio of every point to the base with its interval, by message size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from labkit.errors import DataError
from labkit.figures import axes, looks, style
from labkit.figures.plotly import go
from labkit.judge.comparison import Compared, Comparison
from labkit.point.columns import METRICS
from labkit.point.notes import joined, note
from labkit.point.units import finite, format_number, format_range, format_share, format_size

_FAR = 3.0  # largest ratio over smallest from which ticks are 1, 2, 5, 10, …


def shifts(comparison: Comparison, benchmark: str = "", *, difference: bool = False) -> go.Figure:
    """Draw the ratios of a comparison with their 95 % intervals, a series for each side and verdict.

    Parameters
    ----------
    comparison : from `labkit.judge.comparison.compare`.
    benchmark : benchmark to draw; all when left out.
    difference : draw the shift in the metric's unit instead of the ratio; all points then have one metric.

    Raises
    ------
    DataError
        If no point has a ratio, or differences would be in several units.
    """
    rows = [one for one in comparison.rows if benchmark in ("", one.benchmark) and _drawable(one, difference)]
    if not rows:
        raise DataError("The comparison has no point with a ratio. Compare a time or a rate that both sides have.")
    units = list(dict.fromkeys(METRICS[one.metric].unit for one in rows))
    if difference and len(units) > 1:
        raise DataError(f"The differences are in {' and '.join(units)}. Draw one benchmark, or ratios.")
    series: dict[str, list[Compared]] = {}
    for one in rows:
        series.setdefault(f"{one.side}: {one.judgement.verdict}", []).append(one)
    figure = go.Figure()
    smallest = min((one.size for one in rows if one.size), default=1)
    for (name, group), look in zip(series.items(), looks.named(list(series)), strict=True):
        values = [_values(one, difference) for one in group]
        marker = style.marker("measured", look)
        figure.add_scatter(
            x=[axes.place(one.size, smallest) for one in group],
            y=[value for value, _, _ in values],
            error_y={
                "array": [finite(high - value) for value, _, high in values],
                "arrayminus": [finite(value - low) for value, low, _ in values],
                "symmetric": False,
                "color": marker["color"],
            },
            mode="markers",
            name=style.plain(name),
            marker=marker,
            meta=look.meta,
            **_hover(group, difference),
        )
    if not difference:
        ends = (1 - comparison.relevant, 1 + comparison.relevant)
        figure.add_hrect(*ends, fillcolor="#999", opacity=0.25, line_width=0)
    figure.add_hline(0 if difference else 1, line={"color": "#555", "width": 1.2, "dash": "dash"})
    metrics = list(dict.fromkeys(METRICS[one.metric].label for one in rows))
    what = "difference from" if difference else "ratio to"
    title = f"{' or '.join(metrics)}, {what} {style.plain(comparison.sides[0])}"
    band = "" if difference else f"band: relevant difference, {format_share(comparison.relevant)}"
    bars = "bars: 95 % interval over launches, none with fewer than 4 per side"
    up = {"type": "linear", "title": {"text": f"{title} ({units[0]})"}}
    if not difference:
        up = {"type": "log", "title": {"text": f"{title} (times)"}, **_ticks(rows)}
    figure.update_layout(
        xaxis=axes.sizes([one.size for one in rows], "message size (B)"),
        yaxis=up,
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(figure, note("bars", bars), note("band", band))


def _values(one: Compared, difference: bool) -> tuple[float, float, float]:
    """Value and both ends of its interval."""
    judged = one.judgement
    if difference:
        return judged.shift, judged.shift_low, judged.shift_high
    return judged.ratio, judged.ratio_low, judged.ratio_high


def _drawable(one: Compared, difference: bool) -> bool:
    """Whether a point has the value; a logarithm needs one above 0."""
    value = _values(one, difference)[0]
    return math.isfinite(value) and (difference or value > 0)


def _ticks(rows: list[Compared]) -> dict[str, Any]:
    """Ticks of the ratios, where a logarithm of their range would have none."""
    judged = [one.judgement for one in rows]
    values = [v for one in judged for v in (one.ratio, one.ratio_low, one.ratio_high) if math.isfinite(v) and v > 0]
    low, high = min(1.0, *values), max(1.0, *values)
    if high / low >= _FAR:
        places = axes.rounds(low / 1.5, high * 1.5)
    else:
        step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s < 9)
        places = [step * n for n in range(1, 1 + math.ceil(high / step) + 1) if step * n >= low / 1.5]
    room = 0.03 + 0.05 * math.log10(high / low)
    return {
        "tickvals": places,
        "ticktext": [format_number(one) for one in places],
        "range": [math.log10(low) - room, math.log10(high) + room],
    }


def _hover(group: list[Compared], difference: bool) -> dict[str, Any]:
    """Return the hover text of a series."""
    values = [_values(one, difference) for one in group]
    unit = METRICS[group[0].metric].unit if difference else "times"
    judged = [one.judgement for one in group]
    fields: dict[str, Sequence[Any]] = {
        "size": [format_size(one.size) for one in group],
        "benchmark": [one.benchmark for one in group],
        "setting": [", ".join(f"{name}={level}" for name, level in one.setting.items()) for one in group],
        "interval": [
            format_range(low, high) if math.isfinite(low) else "too few launches for one" for _, low, high in values
        ],
        "p (Holm)": [one.p_adjusted for one in judged],
        "launches": [f"{one.launches[0]} + {one.launches[1]}" for one in group],
        "order": [one.design for one in judged],
        "badges": [joined(one.badges) for one in group],
    }
    return style.hover(
        [f"<b>%{{value}} {unit}</b>"],
        fields,
        value=[format_number(value, width=high - low) for value, low, high in values],
    )
