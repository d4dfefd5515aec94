"""Axes: message sizes in powers of two with binary ticks, costs on a logarithm, rates from 0 if they span little."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labkit.point.columns import Metric
from labkit.point.units import format_number, format_size

_TICKS = 13  # that fit beside each other at 720 px
_LETTER, _BETWEEN, _LINE = 7.3, 8.0, 14.0  # px of a letter of a label, between two labels, and of a line of them
_LEAST, _MOST = 3, 9  # ticks of an axis
_BEYOND = 1.1  # length of a logarithmic axis over its values' range: plotly leaves room for markers
_FAR = 30.0  # highest value of a rate over the least, from which the axis is logarithmic


def place(size: float, smallest: float) -> float:
    """Return the place of a size on the logarithmic axis; 0 is one power of two below the smallest other size."""
    return size if size > 0 else smallest / 2


def on(value: float, axis: Mapping[str, Any]) -> float:
    """Return the place of a value on an axis. On a logarithmic axis, 0 is the first tick."""
    return float(value) if value > 0 or axis["type"] == "linear" else float(min(axis["tickvals"]))


def sizes(values: Sequence[float], title: str) -> dict[str, Any]:
    """Logarithmic axis over sizes with ticks 1, 4, 16 … 1Ki, 4Ki.

    Parameters
    ----------
    values : sizes that occur, B.
    title : title of the axis, with unit.
    """
    present = sorted({int(value) for value in values})
    positive = [value for value in present if value > 0] or [1]
    low, high = math.floor(math.log2(positive[0])), math.ceil(math.log2(positive[-1]))
    step = next(step for step in (1, 2, 3, 4, 5, 6, 10, 20) if (high - low) / step < _TICKS)
    if step == 1 and high - low > 6:
        step = 2
    ticks = [2**power for power in range(low + (-low % step), high + 1, step)]
    places, labels = [float(tick) for tick in ticks], [format_size(tick, unit="") for tick in ticks]
    if present[0] <= 0:
        places, labels = [place(0, positive[0]), *places], ["0", *labels]
    ends = [math.log10(place(present[0], positive[0])), math.log10(positive[-1])]
    room = 0.04 * (ends[1] - ends[0]) + 0.03
    return {
        "type": "log",
        "title": {"text": title},
        "tickmode": "array",
        "tickvals": places,
        "ticktext": labels,
        "range": [ends[0] - room, ends[1] + room],
    }


def rounds(low: float, high: float, most: int = 10) -> list[float]:
    """Return round values from low to high for a logarithmic axis: 1, 2, 5; else decades, or every n-th decade.

    Parameters
    ----------
    most : as many labels fit beside each other.

    Examples
    --------
    >>> rounds(0.8, 12.0), rounds(0.9, 3e6, most=5)
    ([1.0, 2.0, 5.0, 10.0], [1.0, 100.0, 10000.0, 1000000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    every = max(1, -(-len(powers) // most))
    coarse = [10.0**power for power in powers if power % every == 0]
    fine, coarse = ([one for one in values if low <= one <= high] for values in (fine, coarse))
    return fine if len(fine) <= most else coarse


def spaced(places: Sequence[float], labels: Sequence[str], px: float) -> list[int]:
    """Return which ticks of an axis to the right get a label: always the first one, and as many others as fit.

    Parameters
    ----------
    places : along the axis, rising, in any unit; of a logarithmic axis the logarithms.
    labels : text of each.
    px : from the first place to the last.

    Examples
    --------
    >>> spaced([0, 1, 2, 10], ["1", "1,000", "2,000", "8"], 200)
    [0, 2, 3]
    """
    return _fitting(places, labels, px, range(len(places)))


def _fitting(places: Sequence[float], labels: Sequence[str], px: float, chosen: Iterable[int]) -> list[int]:
    """Return which of the chosen ticks have room, one after the other."""
    length = float(places[-1] - places[0]) if len(places) else 0.0
    first, *rest = [*chosen] or [0]
    shown = [first] if len(places) else []
    for n in rest if length else ():
        wide = _LETTER * (len(labels[n]) + len(labels[shown[-1]])) / 2 + _BETWEEN
        if (places[n] - places[shown[-1]]) / length * px >= wide:
            shown.append(n)
    return shown


def thinned(axis: Mapping[str, Any], px: float) -> dict[str, Any]:
    """Return the ticks of an axis to the right whose labels have room in this many px; its own are names of places."""
    values, labels = list(axis.get("tickvals") or ()), list(axis.get("ticktext") or ())
    places = np.log10(values).tolist() if axis.get("type") == "log" else values
    if not all(isinstance(one, int | float) for one in places):
        return {}
    every = [range(0, len(places), step) for step in range(1, len(places))]
    even = next((one for one in every if len(_fitting(places, labels, px, one)) == len(one)), None)
    shown = spaced(places, list(map(str, labels)), px) if even is None else even
    return {"tickangle": 0, "tickvals": [values[n] for n in shown], "ticktext": [labels[n] for n in shown]}


def step(low: float, high: float, px: float, *, upward: bool, fixed: bool = False) -> str | int | None:
    """Return the smallest step of a logarithmic axis with room for its labels, as plotly's ``dtick``.

    None without length.

    The candidates are 1, 2 and 5 of each decade, every decade, every second decade, …; the one with the most labels
    wins. If all have fewer than three, the steps are even.

    Parameters
    ----------
    low, high : ends of the values.
    px : length of the axis.
    upward : whether its labels stand above each other, else side by side.
    fixed : whether the axis ends at its values; else plotly adds room for the markers.

    Examples
    --------
    >>> step(1, 1000, 200, upward=True), step(20, 90, 120, upward=True), step(1, 1e6, 100, upward=True)
    (1, 'L20', 1)
    """
    if not 0 < low < high < math.inf:
        return None
    decade = px / math.log10(high / low) / (1 if fixed else _BEYOND)
    best: tuple[int, str | int | None] = (0, None)
    for name, ticks in _steps(low, high):
        if best[0] >= _LEAST and str(name).startswith("L"):
            break
        gaps = [math.log10(b / a) * decade for a, b in pairwise(ticks)]
        wide = [_LETTER * len(format_number(one, digits=6)) + _BETWEEN for one in ticks]
        need = [_LINE] * len(gaps) if upward else [(a + b) / 2 for a, b in pairwise(wide)]
        fits = all(gap >= least for gap, least in zip(gaps, need, strict=True))
        if fits and best[0] < len(ticks) <= _MOST:
            best = len(ticks), name
    return best[1]


def _steps(low: float, high: float) -> Iterator[tuple[str | int, list[float]]]:
    """Yield steps of a logarithmic axis, as plotly names them, and the ticks of each between two values."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    yield "D2", [digit * 10.0**power for power in powers for digit in (1, 2, 5) if low <= digit * 10.0**power <= high]
    for every in range(1, len(powers)):
        yield every, [10.0**power for power in powers if power % every == 0 and low <= 10.0**power <= high]
    first = math.floor(math.log10(high - low)) - 1
    for width in (digit * 10.0**power for power in (first, first + 1) for digit in (1, 2, 5)):
        count = range(math.ceil(low / width), math.floor(high / width) + 1)
        if len(count) <= _MOST:
            yield f"L{width:g}", [width * n for n in count if n]


def are_far(series: Iterable[ArrayLike]) -> bool:
    """Return whether the lowest values would be unreadable on a linear axis; False if there is a 0.

    Examples
    --------
    >>> are_far([[30.0, 600.0], [25.0, 500.0]]), are_far([[1.0, 900.0]]), are_far([[0.0, 900.0]])
    (False, True, False)
    """
    heights = np.concatenate([np.zeros(0), *(np.asarray(one, np.float64).ravel() for one in series)])
    heights = heights[np.isfinite(heights)]
    return bool(heights.size and heights.min() > 0 and heights.max() >= _FAR * heights.min())


def measure(metric: Metric, title: str, series: Iterable[ArrayLike] = ()) -> dict[str, Any]:
    """Axis of a metric: logarithmic for costs, and for rates if the lowest could not be read on a linear axis.

    Parameters
    ----------
    metric, title : what the axis shows.
    series : values of each line.
    """
    if metric.kind == "cost" or are_far(series):
        return {"type": "log", "title": {"text": title}, "minor": {"ticks": "outside", "ticklen": 3}}
    return {"type": "linear", "rangemode": "tozero", "title": {"text": title}}
