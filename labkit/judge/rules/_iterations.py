"""Times of the iterations of points, and launches that show an effect, for rules about iterations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.judge.finding import Count, Evidence, Values
from labkit.judge.rules._benchmarks import of_benchmarks
from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.point.columns import METRICS, statistic_column

SEEN = {"seen": "so in {seen} of {launches}"}
_CLOCK = "micro.clock"  # measures the cost of clock reads itself
T = TypeVar("T")


def in_most(view: View, shown: Mapping[tuple[str, int], T]) -> Iterator[tuple[Row, list[tuple[int, T]], int]]:
    """Yield points with an effect in more than half of the launches.

    Parameters
    ----------
    shown : fingerprint and number of a launch → effect.

    Returns
    -------
    Rows of the summary, the launches with an effect in the order of their numbers, and the number of all launches.
    """
    numbers, names = view.record_columns["launch"], {name for name, _ in shown}
    for table in view.tables.values() if names else ():
        for place, name in enumerate(table.columns["fingerprint"].tolist()):
            if name in names:
                launches = sorted(int(numbers[row]) for row in table.launches_of(place).tolist())
                some = [(launch, one) for launch in launches if (one := shown.get((name, launch)))]
                if 2 * len(some) > len(launches):
                    yield table.row(place), some, len(launches)


def seen_in(count: int, launches: int) -> list[Evidence]:
    """Return the number of launches with an effect; nothing for a single launch. The clue has a key of `SEEN`."""
    values: Values = {"seen": str(count), "launches": Count(launches, "launch")}
    return [Evidence(code="seen", values=values)] if launches > 1 else []


def iteration_s(view: View) -> NDArray[np.float64]:
    """Return the median time of an iteration of each point, (points,), s; NaN if no single iterations were timed."""
    time = np.full(len(view.summary), math.nan)
    if not view.launches:
        return time
    timed = (view.column("n") > 0) & (view.column("timing") == "each")
    for name, of_benchmark in of_benchmarks(view):
        for metric, work in benchmarks.get(name).metrics.items() if name != _CLOCK else ():
            values = view.column(statistic_column(metric, "p50"))
            places = np.flatnonzero(of_benchmark & timed & np.isnan(time) & (values > 0))
            specs = map(view.launches.spec, view.last[places].tolist())
            units = np.array([work(benchmarks.typed(spec)) for spec in specs], np.float64)
            places, units = places[units != 0], units[units != 0]
            value, definition = values[places], METRICS[metric]
            cost = definition.kind == "cost"
            time[places] = value / definition.factor * units if cost else units * definition.factor / value
    return time
