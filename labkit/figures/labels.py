"""Name lines at their ends, for figures that are too narrow for a legend."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.figures import style
from labkit.figures.plotly import go, raw

_APART = 15  # px between two names
_ABOVE = 10  # px between a line and its name
_LEFT, _RIGHT = (
    0.35,
    0.65,
)  # parts of the axis: names begin at ends left of the first, and end at those right of the other


def label_lines(figure: go.Figure, height: float, most: int = 40) -> go.Figure:
    """Write the name of each line beside its last point, in place of the legend; the figure is changed.

    Names keep apart. A figure with categories keeps its legend.

    Parameters
    ----------
    figure : figure of lines against numbers, such as one from `labkit.figures.versus_size`.
    height : height of what lies between its axes, px.
    most : characters of a name; a longer one is cut.
    """
    traces, layout = raw(figure)
    if any((layout.get(axis) or {}).get("type") not in ("log", "linear", None) for axis in ("xaxis", "yaxis")):
        return figure
    right, up = _Scale(traces, layout, "xaxis"), _Scale(traces, layout, "yaxis")
    found = [
        (trace, end) for trace in traces if trace.get("showlegend") is not False and (end := _last(trace, right, up))
    ]
    found.sort(key=lambda one: -one[1][1])
    places = _apart([(1 - up.part(y)) * height - _ABOVE for _, (_, y) in found], height)
    for (trace, (x, y)), place in zip(found, places, strict=True):
        across = right.part(x)
        colour = (trace.get("line") or {}).get("color") or (trace.get("marker") or {}).get("color") or "#222"
        figure.add_annotation(
            x=right.scaled(x),
            y=up.scaled(y),
            yshift=(1 - up.part(y)) * height - place,
            text=f'<span style="color:{colour}">●</span> {_cut(trace["name"], most)}',
            showarrow=False,
            font={"size": 11},
            xanchor="left" if across < _LEFT else "right" if across > _RIGHT else "center",
            yanchor="middle",
        )
    return figure.update_layout(showlegend=False)


def _cut(name: str, most: int) -> str:
    """An escaped name of at most this many characters."""
    text = html.unescape(name)
    return style.plain(text if len(text) <= most else f"{text[: most - 1].rstrip()}…")


class _Scale:
    """Where values lie along an axis."""

    def __init__(self, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], name: str) -> None:
        axis = layout.get(name) or {}
        self.log = axis.get("type") == "log"
        if axis.get("range") is not None:
            self._low, self._high = (float(end) for end in axis["range"])
        else:
            low, high = style.ends(traces, name)
            zero = axis.get("rangemode") == "tozero" and not self.log
            self._low, self._high = (0.0 if zero else self.scaled(low)), self.scaled(high)

    def scaled(self, value: float) -> float:
        """A value as plotly places annotations: its logarithm on a logarithmic axis."""
        return math.log10(value) if self.log and value > 0 else value

    def part(self, value: float) -> float:
        """Part of the axis that lies below a value."""
        return (self.scaled(value) - self._low) / ((self._high - self._low) or 1.0)


def _last(trace: Mapping[str, Any], right: _Scale, up: _Scale) -> tuple[float, float] | None:
    """Last point of a line; None if it has no name or no point that the axes can show."""
    xs, ys = (trace.get(key) for key in "xy")
    if not trace.get("name") or xs is None or ys is None:
        return None
    for x, y in zip(reversed(list(xs)), reversed(list(ys)), strict=True):
        if x is None or y is None or math.isnan(x) or math.isnan(y) or (right.log and x <= 0) or (up.log and y <= 0):
            continue
        return float(x), float(y)
    return None


def _apart(wanted: Sequence[float], height: float) -> list[float]:
    """Places near the wanted ones, px from the top, in their order, with room between them and inside the height."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + _APART if places else 0.0))
    for n in range(len(places) - 1, -1, -1):
        places[n] = min(places[n], height - (len(places) - n) * _APART)
    return places
