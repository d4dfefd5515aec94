"""How the values of a setting run over the sizes of its messages."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labkit.judge.cause import Case
from labkit.judge.finding import SHARE, Count, Evidence, Value

FLAT = 0.05  # part by which the bandwidths of a plateau differ at most
GROWING = 0.1  # part by which the largest size is faster than the one before where the bandwidth still grows


def curve(case: Case, metric: str = "bandwidth_MBps") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sizes, B, and values of the setting of a point, by size."""
    return case.table.curve(case.place, metric)


def plateau(case: Case) -> list[Evidence]:
    """Return that the largest sizes have the same value, if at least two do."""
    _, values = curve(case)
    if len(values) < 2 or not values[-1] > 0:
        return []
    near = np.abs(values / values[-1] - 1) <= FLAT
    count = int(np.argmin(near[::-1])) if not near.all() else len(values)
    if count < 2:
        return []
    some = values[-count:]
    spread = Value(value=float(some.max() / some.min() - 1), unit=SHARE)
    return [Evidence(code="flat", values={"sizes": Count(count, "size"), "spread": spread})]


def rising(case: Case) -> list[Evidence]:
    """Return that the bandwidth still grows at the largest size, if it does, and no more than a fixed cost explains.

    A message that takes a fixed time and one for its bytes gains at most as much as its size grows; a value that gains
    more was disturbed at the smaller size. Nor does it grow if intervals of both sizes overlap.
    """
    sizes, values = curve(case)
    if len(values) < 2 or not values[-2] > 0:
        return []
    growth = float(values[-1] / values[-2] - 1)
    before, last = case.table.sizes(case.place, "bandwidth_MBps")[-2:]
    high, low = case.table.columns["bandwidth_MBps_high"][before], case.table.columns["bandwidth_MBps_low"][last]
    overlap = bool(low <= high)  # not of values without an interval, whose ends are not known
    possible = GROWING < growth <= (1 + FLAT) * (sizes[-1] / sizes[-2] - 1) and not overlap
    return [Evidence(code="rising", values={"growth": Value(value=growth, unit=SHARE)})] if possible else []


def without_fixed_cost(case: Case) -> float:
    """Return the bandwidth of very large messages, from the times of the two largest sizes; NaN without these."""
    sizes, values = curve(case)
    if len(values) < 2 or not (values[-2:] > 0).all():
        return math.nan
    before, last = sizes[-2:] / values[-2:]
    return float((sizes[-1] - sizes[-2]) / (last - before)) if last > before else math.inf
