"""What the iterations of a point took, for rules about the clock."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.judge.rules._benchmarks import of_benchmarks
from labkit.judge.view import View
from labkit.point.columns import METRICS, statistic_column

_CLOCK = "micro.clock"  # measures the cost of clock reads itself


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
