"""Mistakes that people make with any number: what they give follows from the right value."""

from __future__ import annotations

import math
from collections.abc import Callable

Slips = dict[str, Callable[[float], float]]


def times(factor: float) -> Callable[[float], float]:
    """Return what multiplies a value.

    Examples
    --------
    >>> times(8)(1.5)
    12.0
    """
    return lambda value: factor * value


def inverse(value: float) -> float:
    """Return the reciprocal; NaN, which no answer is near to, of 0."""
    return 1 / value if value else math.nan


INVERSE: Slips = {"the inverse: divide the other way round": inverse}
PART: Slips = {"the part of 1: multiply it by 100": times(0.01)}
REST: Slips = {"what is left of 100 %": lambda value: 100 - value}
ROUND_TRIP: Slips = {"the round trip: one way is half of it": times(2)}
HALVED: Slips = {"the right value, halved: the table has one way already": times(0.5)}
BITS: Slips = {"the rate in Mbit/s: a byte has 8 bits": times(8)}
MEBI: Slips = {"the rate in MiB/s: 1 MB is 1 000 000 B": times(1 / 1.048576)}
THOUSANDTH: Slips = {"a thousandth of it: mind ms and µs": times(1e-3)}
THOUSAND: Slips = {"a thousand times as much: mind ms and µs": times(1e3)}
GROWTH: Slips = {"the increase in %: divide the two values": lambda value: 100 * (value - 1)}
