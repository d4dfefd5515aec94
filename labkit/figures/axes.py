"""Axes: message sizes in powers of two with binary ticks, costs on a logarithm, rates from 0 where they are near."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labkit.point.columns import Metric
from labkit.point.units import format_size

_TICKS = 13  # that fit beside each other at 720 px
_FAR = 20.0  # highest value of a rate over that of another line, from which the axis is logarithmic


def place(size: float, smallest: float) -> float:
    """Return the place of a size on the logarithmic axis; 0 has one a power of two below the smallest other size."""
    return size if size > 0 else smallest / 2


def on(value: float, axis: Mapping[str, Any]) -> float:
    """Return the place of a value on an axis; 0 has one of its own on a logarithmic axis, its first tick."""
    return float(value) if value > 0 or axis["type"] == "linear" else float(min(axis["tickvals"]))


def sizes(values: Sequence[float], title: str) -> dict[str, Any]:
    """Logarithmic axis over sizes with ticks 1, 4, 16 … 1Ki, 4Ki.

    Parameters
    ----------
    values : sizes that occur, B.
    title : of the axis, with unit.
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


def are_far(series: Iterable[ArrayLike]) -> bool:
    """Return whether one of several series would lie wholly at the foot of a linear axis that shows them all.

    Examples
    --------
    >>> are_far([[1.0, 900.0], [0.5, 60.0]]), are_far([[1.0, 900.0], [0.5, 40.0]])
    (False, True)
    """
    heights = [values[values > 0] for one in series if (values := np.asarray(one, np.float64)).size]
    tops = [float(one.max()) for one in heights if one.size]
    return bool(tops) and max(tops) >= _FAR * min(tops)


def measure(metric: Metric, title: str, series: Iterable[ArrayLike] = ()) -> dict[str, Any]:
    """Axis of a metric: logarithmic for a cost, and for rates of which a series could not be read on a linear axis.

    Parameters
    ----------
    metric, title : what the axis shows.
    series : values of each line.
    """
    if metric.kind == "cost" or are_far(series):
        return {"type": "log", "title": {"text": title}, "minor": {"ticks": "outside", "ticklen": 3}}
    return {"type": "linear", "rangemode": "tozero", "title": {"text": title}}
