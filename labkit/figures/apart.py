"""Place overlapping markers of several series side by side, and show markers at an edge completely.

The data of the figure are read before its markers move, so the table beside it has their true places.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from labkit.figures import data
from labkit.point.notes import note

NOTE = note("apart", "markers of one place stand side by side")
_STEP = 0.016  # of the axis to the right, between two series
_MOST = 0.034  # of it, between a marker and its true place: there is room at both ends
_EDGE = 0.02  # of it, between the middle of a marker and an end of the axis: more than its radius
_NEAR = 0.07  # of the upward axis: the height of a marker
Shifts = dict[int, tuple[float, set[float]]]  # trace → part of the length of the axis to the right, and at which places


def shifts(spec: Mapping[str, Any]) -> Shifts:
    """Return how far the markers of each trace move; nothing if no two series have markers that overlap.

    Parameters
    ----------
    spec : plotly figure as plain data. Series that are joined, and axes without a range, do not change.
    """
    layout, found = spec.get("layout", {}), Shifts()
    panels: dict[tuple[str, str], list[int]] = defaultdict(list)
    for n, trace in enumerate(spec.get("data", [])):
        if trace.get("type", "scatter") == "scatter":
            panels[str(trace.get("xaxis") or "x"), str(trace.get("yaxis") or "y")].append(n)
    for (right, upward), members in panels.items():
        across, up = (layout.get(f"{name[0]}axis{name[1:]}") or {} for name in (right, upward))
        if across.get("type") not in ("log", "linear") or across.get("range") is None:
            continue
        bare: dict[str, list[int]] = defaultdict(list)
        for n in members:
            trace = spec["data"][n]
            if trace.get("mode") == "markers" and all(isinstance(x, int | float) for x, *_ in _points(trace)):
                bare[str(trace.get("legendgroup") or f"trace {n}")].append(n)
        traces = [[spec["data"][n] for n in some] for some in bare.values()]
        if crowded := _overlap(traces, is_log=up.get("type") == "log", zero=up.get("rangemode") == "tozero"):
            joined = any("lines+markers" in str(spec["data"][n].get("mode")) for n in members)
            places = _offsets(len(bare), joined=joined)
            step = min(_STEP, _MOST / max(map(abs, places)))
            each = zip(places, bare.values(), strict=True)
            found |= {n: (place * step, crowded) for place, some in each for n in some}
    return found


def _offsets(count: int, *, joined: bool) -> list[float]:
    """Return the places of series around their true one, in steps; a joined series keeps that for itself."""
    if joined:
        return [(n // 2 + 1) * (-1.0) ** n for n in range(count)]
    return [n - (count - 1) / 2 for n in range(count)]


def _points(trace: Mapping[str, Any]) -> Iterator[tuple[Any, float, float, float]]:
    """Yield place, value and both ends of the interval of each marker."""
    heights = data.values(trace.get("y"))
    error = trace.get("error_y") or {}
    up, down = ([*data.values(error.get(name)), *[0.0] * len(heights)] for name in ("array", "arrayminus"))
    for x, y, above, below in zip(data.values(trace.get("x")), heights, up, down, strict=False):
        if x is not None and isinstance(y, int | float) and math.isfinite(y):
            yield x, y, y - _finite(below), y + _finite(above)


def _finite(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _overlap(series: Sequence[Sequence[Mapping[str, Any]]], *, is_log: bool, zero: bool) -> set[float]:
    """Return the places where markers or intervals of two series lie on one another."""

    def scaled(value: float) -> float:
        return math.log10(value) if is_log and value > 0 else value if not is_log else -math.inf

    drawn = [[(x, *map(scaled, ends)) for trace in traces for x, *ends in _points(trace)] for traces in series]
    every = [end for points in drawn for _, *ends in points for end in ends if math.isfinite(end)] + [0.0] * (
        zero and not is_log
    )
    near = _NEAR * (max(every) - min(every)) if every else 0.0
    return {
        x
        for one, other in combinations(drawn, 2)
        for x, _, low, high in one
        for place, _, bottom, top in other
        if x == place and min(high, top) - max(low, bottom) >= -near
    }


def move(spec: dict[str, Any], far: Shifts) -> None:
    """Move the markers of traces, and keep them away from the ends of the axis to the right; nothing cuts markers."""
    layout = spec.get("layout", {})
    for n, trace in enumerate(spec.get("data", [])):
        if trace.get("mode") == "markers" and not (layout.get("yaxis") or {}).get("range"):
            trace["cliponaxis"] = False
        if n in far:
            part, crowded = far[n]
            axis = layout[f"xaxis{str(trace.get('xaxis') or 'x')[1:]}"]
            length = part * (axis["range"][1] - axis["range"][0])
            trace["x"] = [
                x if x not in crowded else x * 10**length if axis["type"] == "log" else x + length
                for x in data.values(trace["x"])
            ]
            _make_room(axis, [x for x in trace["x"] if x is not None])


def _make_room(axis: dict[str, Any], places: Sequence[float]) -> None:
    """Lengthen an axis so that no marker touches its ends."""
    ends = [math.log10(x) for x in places] if axis["type"] == "log" else places
    low, high = axis["range"]
    room = _EDGE * (high - low)
    axis["range"] = [min([low, *(x - room for x in ends)]), max([high, *(x + room for x in ends)])]
