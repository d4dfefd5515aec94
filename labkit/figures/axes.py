"""Axes: message sizes in powers of two with binary ticks, costs on a logarithm, rates from 0 where they are near."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labkit.columns import Metric
from labkit.units import format_size

_TICKS = 13  # that fit beside each other at 720 px
_FAR = 100.0  # greatest over least value from which a rate has a logarithmic axis


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


def is_far(values: ArrayLike) -> bool:
    """Return whether values above 0 span so much that the small ones would all lie at the foot of a linear axis.

    Examples
    --------
    >>> is_far([0.0, 5.0, 400.0]), is_far([3.0, float("nan"), 500.0])
    (False, True)
    """
    heights = np.asarray(values, np.float64)
    heights = heights[heights > 0]
    return bool(heights.size) and float(heights.max()) >= _FAR * float(heights.min())


def measure(metric: Metric, title: str, values: ArrayLike = ()) -> dict[str, Any]:
    """Axis of a metric: logarithmic for a cost, and for a rate whose values span two decades; else linear from 0.

    `labkit.figures.bounded` makes the axis of a rate linear where it draws what the path allows, because then the share
    of that counts.

    Parameters
    ----------
    metric, title : what the axis shows.
    values : that are drawn.
    """
    if metric.kind == "cost" or is_far(values):
        return {"type": "log", "title": {"text": title}, "minor": {"ticks": "outside", "ticklen": 3}}
    return {"type": "linear", "rangemode": "tozero", "title": {"text": title}}
