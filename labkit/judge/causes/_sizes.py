"""Values of a setting against the message size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.judge.cause import Case
from labkit.judge.finding import SHARE, SIZE, Count, Evidence, Value, Values
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.point.columns import METRICS
from labkit.store.samples.facts import SEGMENT_B, WARMUP

FLAT = 0.05  # part by which the bandwidths of a plateau differ at most
GROWING = 0.1  # part by which the largest size is faster than the one before where the bandwidth still grows


def curve(case: Case, metric: str = "bandwidth_MBps") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sizes, B, and values of the setting of a point, by size."""
    return case.table.curve(case.place, metric)


def plateau(case: Case) -> list[Evidence]:
    """Return the clue that the largest sizes have the same value, if at least two do."""
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
    """Return the clue that the bandwidth still grows at the largest size, by no more than a fixed cost explains.

    With a fixed time and a time for its bytes, the bandwidth grows at most by the ratio of the sizes. If it grows by
    more, the smaller size was disturbed. If the intervals of both sizes overlap, it does not grow.
    """
    sizes, values = curve(case)
    if len(values) < 2 or not values[-2] > 0:
        return []
    growth = float(values[-1] / values[-2] - 1)
    before, last = case.table.sizes(case.place, "bandwidth_MBps")[-2:]
    high, low = case.table.columns["bandwidth_MBps_high"][before], case.table.columns["bandwidth_MBps_low"][last]
    overlap = bool(low <= high)  # not of values without an interval, whose ends are not known
    least = low / high - 1 if math.isfinite(low / high) else growth
    possible = growth > GROWING and least <= (1 + FLAT) * (sizes[-1] / sizes[-2] - 1) and not overlap
    return [Evidence(code="rising", values={"growth": Value(value=growth, unit=SHARE)})] if possible else []


@dataclass(frozen=True)
class Later:
    """A step of the time by whole round trips of the path.

    Parameters
    ----------
    after, before : sizes between which it is, B.
    trips : its height in round trips.
    of_all : further round trips of the size, compared with the smallest size.
    more : their time, in the unit of the measured value.
    """

    after: int
    before: int
    trips: int
    of_all: int
    more: Value

    @property
    def values(self) -> Values:
        """The step for a clue."""
        ends = {"after": self.after, "before": self.before}
        sizes = {name: Value(value=size, unit=SIZE) for name, size in ends.items()}
        return {**sizes, "step": self.more, "trips": Count(self.trips, "round trip")}


def later(case: Case) -> Later | None:
    """Return the size above which messages take additional whole round trips of the path; None if there is none.

    Asking whether the receiver is ready takes one. The times of the bytes are subtracted before.
    """
    if case.about.code != "latency-of-path" or not case.metric:
        return None
    sizes, values = curve(case, case.metric)
    wire, size = bounds.path(case.samples, case.view.stated or Stated()), int(case.row["message_size_B"])
    if wire is None or not wire.delay or size not in sizes:
        return None
    crossings, factor = bounds.crossings_of(case.about.subject.benchmark), METRICS[case.metric].factor
    seconds = values / factor / crossings - sizes / wire.efficiency.share * 8 / wire.rate
    own, trip = seconds[sizes == size][0], 2 * wire.delay
    quick = np.flatnonzero((sizes < size) & (seconds < own - trip / 2))
    if not len(quick):
        return None
    trips = (own - seconds[quick[-1]]) / trip
    whole = round(float(trips))
    if not whole or abs(trips - whole) > _WHOLE * whole:
        return None
    more = Value(value=float(trips * trip * crossings * factor), unit=case.measured.unit, origin="computed")
    return Later(int(sizes[quick[-1]]), int(sizes[quick[-1] + 1]), whole, round(float((own - seconds[0]) / trip)), more)


_WHOLE = 0.15  # part by which a number of round trips may differ from a whole one: hosts have some work with each


def may_be_slow_start(case: Case, step: Later) -> bool:
    """Whether the slow start of TCP would take the same number of round trips.

    A connection sends ten segments, and twice as many in each further round trip (RFC 6928), so a message waits once
    from ten segments on, and twice from thirty. Each received message doubles the number for the next one, so the slow
    start ends after some messages.
    """
    if case.spec.transport in ("rc", "ud") or benchmarks.get(case.spec.benchmark).ends.rdma:
        return False
    first = _FIRST * (SEGMENT_B.of(case.samples.meta) or _SEGMENT)
    waits = math.ceil(math.log2((case.spec.size or 0) / first + 1)) - 1
    earlier = WARMUP.of(case.samples.meta) + case.samples.n // 2  # messages before that of the median time
    return step.of_all == waits and earlier <= waits


_FIRST, _SEGMENT = 10, 1448  # segments of a connection before the first answer; B of payload in each


def without_fixed_cost(case: Case) -> float:
    """Return the bandwidth of very large messages, from the times of the two largest sizes; NaN without these."""
    sizes, values = curve(case)
    if len(values) < 2 or not (values[-2:] > 0).all():
        return math.nan
    before, last = sizes[-2:] / values[-2:]
    return float((sizes[-1] - sizes[-2]) / (last - before)) if last > before else math.inf
