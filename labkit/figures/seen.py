"""Describe what a figure shows, from its values: the end of its caption in a report."""

from __future__ import annotations

import html
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.figures import data, looks
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.units import OTHER_UNITS, format_number, format_size
from labkit.stats.decision import RELEVANT

_UNIT = re.compile(r"\(([\w/µ%]+)\)$")
_TIMES = ("ns", "µs", "ms", "s")
_RATES = ("1/s", "MB/s", "GB/s", "Mbit/s", "Gbit/s", "Gflop/s")
_IN = re.compile(r" in ([A-Z]\w*)$")
_SEVERAL = re.compile(r"([a-z]+ )?[a-z]+s( [a-z]+)*")  # what an axis counts
_MANY = 50  # points of a series, from which on only the highest is named
_FEW = 6  # series of a distribution that are listed
_NAMED = 4  # ratios of a kind that are named
_ALIKE = 1.01  # ratio from which a difference is named
_STATISTICS = frozenset(one.label for one in STATISTICS.values()) | {"mean", "maximum"}
_RATIO = "times"  # unit of ratios; a ratio of these means nothing
_SMALLER = {"GB/s": "MB/s"}  # unit → the one for small values
_SMALL = 0.1
_SHARE = "share of"  # begins the title of the axis of a distribution


@dataclass(frozen=True)
class _Point:
    """A value of a series at a place, with the ends of its error bar; NaN for none."""

    series: str
    at: Any
    value: float
    low: float = math.nan
    high: float = math.nan
    axis: str = ""  # upward axis of its subplot


@dataclass(frozen=True)
class _Words:
    """How a panel writes places and values."""

    unit: str
    right: str = ""  # title of the axis of places

    def at(self, place: Any, *, counted: bool = True) -> str:
        """Return a place with its unit and, if `counted`, with what it counts: ``at 8 ranks``."""
        number = not isinstance(place, str)
        text = format_number(place) if number else html.unescape(place).replace("<br>", ", ")
        unit = _unit(self.right) or (_IN.search(self.right) or ("", ""))[1]
        if unit:
            return f"at {format_size(round(place)) if unit == 'B' else f'{text} {unit}'}" if number else f"at {text}"
        if counted and (number or text.isdecimal()) and _SEVERAL.fullmatch(self.right):
            return f"at {text} {self.right}"
        single = re.fullmatch(r"[a-z]+", self.right) and not self.right.endswith("s")
        return f"at {self.right} {text}" if single and (number or text.isdecimal()) else f"at {text}"

    def value(self, one: _Point) -> str:
        """Return a value in the digits of its interval, with its unit."""
        return format_number(one.value, self.unit, width=one.high - one.low)


def seen(spec: Mapping[str, Any]) -> str:
    """Return which direction is better and what stands out; empty if a figure has no values to compare.

    It reads values and bars and judges nothing: where bars overlap, it says so.

    Parameters
    ----------
    spec : figure, as plotly writes it.

    Examples
    --------
    >>> lines = [{"name": "shm", "x": [1, 2], "y": [0.5, 0.75]}, {"name": "tcp", "x": [1, 2], "y": [5.0, 5.1]}]
    >>> seen({"data": lines, "layout": {"yaxis": {"title": "latency (µs)"}}})
    'Lower is better. Largest difference at 1: tcp (5 µs) and shm (0.5 µs), 10 times, without intervals.'
    """
    layout = spec.get("layout") or {}
    traces = [one for one in spec.get("data") or [] if _is_shown(one)]
    named = [one for one in traces if looks.drawn(one)]  # without lines that are drawn to compare
    traces = named or traces
    if heat := [one for one in traces if one.get("type") == "heatmap"]:
        return _cells(heat, layout)
    panels = _panels(traces, layout)
    said = [text for title, panel in panels.items() if (text := _panel(title, panel, layout))]
    if len(said) < 2:
        return "".join(said)
    return " ".join(f"{side}: {text}" for side, text in zip(("Left", "Right"), said, strict=False))


def _is_shown(trace: Mapping[str, Any]) -> bool:
    """Whether a trace has its own values: no label, no tail, no bound or published number."""
    meta = trace.get("meta")
    beside = isinstance(meta, Mapping) and meta.get("overlay")
    return trace.get("mode") != "text" and not beside and not (trace.get("opacity") or 1) < 1


def _panels(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the traces by the title of their upward axis; an axis without one shares that of the first."""
    panels: dict[str, list[Mapping[str, Any]]] = {}
    first = data.title(layout, "yaxis")
    for trace in traces:
        panels.setdefault(data.title(layout, data.axis_of(trace, "y")) or first, []).append(trace)
    return panels


def _panel(title: str, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> str:
    """Return what is to see in a panel, after the direction that is better."""
    across = data.title(layout, data.axis_of(traces[0], "x"))
    unit, other = _unit(title), _unit(across)
    if title.startswith(_SHARE):
        better = "Further left is better." if other in _TIMES else ""
        return " ".join(filter(None, (better, _distribution(traces, other, title))))
    if not title and not across:  # a drawing
        return ""
    sideways = traces[0].get("orientation") == "h" or (not title and bool(other))
    words = _Words(other) if sideways else _Words(unit, across)
    points = [point for trace in traces for point in _points(trace, layout, sideways)]
    if unit and unit == other:
        sight = _least_alike(points, words)
    elif words.unit == _RATIO and _has_line_at_one(layout):
        sight = _beside_one(points, words)
    else:
        sight = _largest(points, words) if layout.get("barmode") == "stack" else _sight(points, words)
    return " ".join(filter(None, (_better(layout, words.unit), sight))) if sight else ""


def _unit(title: str) -> str:
    found = _UNIT.search(title)
    return found[1] if found else ""


def _better(layout: Mapping[str, Any], unit: str) -> str:
    """Return the better direction, which the metric knows, or the unit of a time or a rate."""
    meta = layout.get("meta")
    metric = meta.get("metric") if isinstance(meta, Mapping) else None
    direction = METRICS[metric].better if metric in METRICS and METRICS[metric].unit in (unit, *_base(unit)) else ""
    direction = direction or ("lower" if unit in _TIMES else "higher" if unit in _RATES else "")
    return f"{direction.capitalize()} is better." if direction else ""


def _base(unit: str) -> list[str]:
    """Return the units of metrics that may be told in another unit."""
    return [base for base, others in OTHER_UNITS.items() if unit in others]


def _points(trace: Mapping[str, Any], layout: Mapping[str, Any], sideways: bool) -> Iterator[_Point]:
    """Yield the points of a trace."""
    name = html.unescape(data.plain(str(trace.get("name") or "")))
    columns = data.columns(trace)
    letter, along = ("x", "y") if sideways else ("y", "x")
    heights = data.values(trace.get("median")) if trace.get("type") == "box" else columns.get(letter, [])
    axis = layout.get(data.axis_of(trace, along)) or {}
    places = data.named(columns.get(along, []), axis)
    lows, highs = (columns.get(f"{letter}_{end}", [math.nan] * len(heights)) for end in ("low", "high"))
    for at, value, low, high in zip(places, heights, lows, highs, strict=False):
        if isinstance(value, int | float) and math.isfinite(value) and at is not None:
            ends = [float(end) if isinstance(end, int | float) else math.nan for end in (low, high)]
            yield _Point(name, at, float(value), ends[0], ends[1], data.axis_of(trace, "y"))


def _has_line_at_one(layout: Mapping[str, Any]) -> bool:
    """Whether a line shows where ratios mean no change."""
    shapes = [one for one in layout.get("shapes") or () if isinstance(one, Mapping) and one.get("type") == "line"]
    return any(one.get(f"{axis}0") == 1 == one.get(f"{axis}1") for one in shapes for axis in "xy")


def _beside_one(points: Sequence[_Point], words: _Words) -> str:
    """Return the ratios with a whole interval (or all dots) above 1, below 1, and the others."""
    points = _first_statistic(points)
    if not any(math.isfinite(point.low) for point in points):
        return _sight(points, words)
    kinds: dict[str, list[_Point]] = {"Above 1": [], "Below 1": [], "Undecided": []}
    several = len({point.series for point in points}) > 1
    for one in sorted(points, key=lambda point: -abs(math.log(point.value)) if point.value > 0 else -math.inf):
        small = abs(one.value - 1) < RELEVANT
        kinds["Undecided" if small or one.low <= 1 <= one.high else "Above 1" if one.low > 1 else "Below 1"].append(one)
    said = [
        f"{kind}: {'; '.join(f'{_label(one, words, several=several)} ({words.value(one)})' for one in some)}"
        if len(some) <= _NAMED
        else f"{kind}: {len(some)} of {len(points)}, most of all {_label(some[0], words, several=several)} "
        f"({words.value(some[0])})"
        for kind, some in kinds.items()
        if some
    ]
    return f"{'. '.join(said)}."


def _first_statistic(points: Sequence[_Point]) -> Sequence[_Point]:
    """Return one point for each series and place; of several statistics of one thing, the first."""
    names = dict.fromkeys(point.series for point in points)
    if len(names) > 1 and names.keys() <= _STATISTICS:
        points = [point for point in points if point.series == next(iter(names))]
    return _single(points)


def _sight(points: Sequence[_Point], words: _Words) -> str:
    """Return what stands out among points; of several statistics of one thing, among the first."""
    points = _first_statistic(points)
    names = dict.fromkeys(point.series for point in points)
    if len(points) < 2:
        return ""
    if max(sum(p.series == name for p in points) for name in names) > _MANY:
        top = max(points, key=lambda p: p.value)
        whose = f" ({top.series})" if len(names) > 1 else ""
        return f"Highest: {words.value(top)} {words.at(top.at)}{whose}."
    by_place: dict[str, list[_Point]] = {}
    for point in points:
        by_place.setdefault(str(point.at), []).append(point)
    pairs = [_ends(group) for group in by_place.values() if len({p.series for p in group}) > 1]
    if len(names) > 1 and pairs and all(point.value > 0 for point in points):
        low, high = max(pairs, key=lambda pair: (not _overlap(*pair), _ratio(*pair)))
        both = _both(high, low, words, high.series, low.series)
        return f"{_visible(low, high)}Largest difference {words.at(high.at)}: {both}."
    low, high = _ends(points)
    if len(names) == 1 and all(isinstance(point.at, int | float) for point in points):
        return _course(sorted(points, key=lambda p: float(p.at)), low, high, words)
    labels = [_label(p, words, several=len(names) > 1) for p in (high, low)]
    return f"{_visible(low, high)}Highest and lowest: {_both(high, low, words, *labels)}."


def _single(points: Sequence[_Point]) -> Sequence[_Point]:
    """Return one point for each series and place: of several dots their median, with the ends of their range."""
    groups: dict[tuple[str, str, str], list[_Point]] = {}
    for point in points:
        groups.setdefault((point.axis, point.series, str(point.at)), []).append(point)
    return [some[0] if len(some) == 1 else _middle(some) for some in groups.values()]


def _middle(dots: Sequence[_Point]) -> _Point:
    values = [one.value for one in dots]
    return replace(dots[0], value=statistics.median(values), low=min(values), high=max(values))


def _label(one: _Point, words: _Words, *, several: bool) -> str:
    """Return the name of a point: of its series and its place, if they differ."""
    place = words.at(one.at)
    if not several or one.series == str(one.at):
        return place.removeprefix("at ")
    return f"{one.series} {place}"


def _ends(points: Sequence[_Point]) -> tuple[_Point, _Point]:
    """Return the points with the least and the greatest value."""
    return min(points, key=lambda p: p.value), max(points, key=lambda p: p.value)


def _ratio(low: _Point, high: _Point) -> float:
    return high.value / low.value if low.value > 0 else 0.0


def _overlap(low: _Point, high: _Point) -> bool:
    """Whether the bars of two points overlap; points without bars do."""
    return not low.high < high.low


def _visible(low: _Point, high: _Point) -> str:
    """Return a sentence that even the largest difference is not visible; empty if it is."""
    if not math.isnan(low.high + high.low) and _overlap(low, high):
        return "The bars of all series overlap. "
    return "All series are nearly the same. " if 0 < _ratio(low, high) < _ALIKE else ""


def _both(high: _Point, low: _Point, words: _Words, one: str, other: str) -> str:
    """Return two named values and their ratio, and whether their bars keep them apart."""
    notes, ratio = [], _ratio(low, high)
    if words.unit in _SMALLER and low.value < _SMALL:  # else its value has leading zeros
        words = replace(words, unit=_SMALLER[words.unit])
        high, low = (replace(p, value=1e3 * p.value, low=1e3 * p.low, high=1e3 * p.high) for p in (high, low))
    if low.value > 0 and words.unit != _RATIO:
        times = f"{format_number(ratio, digits=2 if ratio >= 2 else 3)} times"
        notes.append(times if ratio >= _ALIKE else "less than 1 % apart")
    if _overlap(low, high):
        notes.append("without intervals" if math.isnan(low.high + high.low) else "their bars overlap")
    return ", ".join([f"{one} ({words.value(high)}) and {other} ({words.value(low)})", *notes])


def _least_alike(points: Sequence[_Point], words: _Words) -> str:
    """Return the two values of a point with one quantity on both axes that differ most."""
    known = [p for p in points if p.value > 0 and isinstance(p.at, int | float) and p.at > 0]
    worst = max(known, key=lambda p: abs(math.log(p.value / p.at)), default=None)
    if worst is None:
        return ""
    first = format_number(worst.at, words.unit)
    return f"Least alike: {first} to the right and {words.value(worst)} upwards."


def _course(points: Sequence[_Point], low: _Point, high: _Point, words: _Words) -> str:
    """Return where a line begins and ends, and where it is highest or lowest in between."""
    first, last = points[0], points[-1]
    begin, end = words.at(first.at, counted=False), words.at(last.at)
    text = f"From {words.value(first)} {begin} to {words.value(last)} {end}"
    between = [(name, p) for name, p in (("highest", high), ("lowest", low)) if p not in (first, last)]
    text += "".join(f", {name} {words.at(p.at, counted=False)}: {words.value(p)}" for name, p in between[:1])
    ends = sorted((first, last), key=lambda p: p.value)
    if not _overlap(*ends):
        return f"{text}."
    if math.isnan(ends[0].high + ends[1].low):
        return f"{text}; without intervals."
    return f"{'' if between else 'No change is visible. '}{text}; the bars at the two ends overlap."


def _largest(points: Sequence[_Point], words: _Words) -> str:
    """Return the largest part of stacked bars."""
    top = max(points, key=lambda p: p.value, default=None)
    return f"Largest part: {top.series} {words.at(top.at)}, {words.value(top)}." if top and len(points) > 1 else ""


def _distribution(traces: Sequence[Mapping[str, Any]], unit: str, title: str) -> str:
    """Return where half of the iterations end in each series, or one in a hundred begins; of launches their range."""
    longer = "longer" in title
    ends: dict[str, list[float]] = {}
    for trace in traces:
        pairs = zip(*(data.values(trace.get(key)) for key in ("x", "y")), strict=False)
        known = [(x, y) for x, y in pairs if isinstance(x, int | float) and isinstance(y, int | float)]
        reached = [x for x, y in known if (y <= 0.01 if longer else y >= 0.5)]
        if trace.get("mode") == "lines" and reached:
            ends.setdefault(html.unescape(str(trace.get("name") or "")), []).append(min(reached))
    shown = []
    for name, values in sorted(ends.items(), key=lambda one: max(one[1])):
        low, high = (format_number(end, digits=3) for end in (min(values), max(values)))
        range_ = low if low == high else f"{low} to {high}"
        shown.append(f"{range_} {unit}" + (f" ({name})" if len(ends) > 1 else ""))
    what = "One in a hundred is longer than" if longer else "Half of the iterations take at most"
    return f"{what} {', '.join(shown)}." if 0 < len(shown) <= _FEW else ""


def _cells(maps: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> str:
    """Return the highest and the lowest cell of heat maps that have a scale of colours; others hold bounds."""
    scaled = [one for one in maps if one.get("showscale") is not False]
    bar = scaled[0].get("colorbar") or (layout.get("coloraxis") or {}).get("colorbar") or {} if scaled else {}
    unit = _unit(data.title({"colorbar": bar}, "colorbar"))
    points = []
    for one in scaled:
        columns = data.columns(one)
        rights, ups = (data.named(columns.get(key, []), layout.get(data.axis_of(one, key)) or {}) for key in ("x", "y"))
        for x, y, z in zip(rights, ups, columns.get("z", []), strict=False):
            if isinstance(z, int | float) and math.isfinite(z):
                points.append(_Point(f"{y} × {x}", "", float(z)))
    if len(points) < 2:
        return ""
    low, high = (replace(one, value=float(f"{one.value:.3g}")) for one in _ends(points))
    words = _Words(unit)
    direction = _better({}, unit)
    ends = [f"Highest: {words.value(high)} at {high.series}", f"lowest: {words.value(low)} at {low.series}"]
    if len(scaled) < len(maps):  # times are at most what is written there, rates at least
        bound = unit in _TIMES
        ends[bound] = ends[bound].replace(":", " that the clock resolves:", 1)
    said = f"{'; '.join(ends)}."
    return " ".join(filter(None, (direction, said)))
