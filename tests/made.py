"""Samples made by hand: the one builder of the tests, of what a point and launch left behind without measuring it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from labkit.columns import METRICS
from labkit.samples import Samples
from labkit.spec import Effort, Reported, Spec


def samples(spec: Spec | str, time_ns: Any = None, *, launch: int = 0, **fields: Any) -> Samples:
    """A launch with given times, or with values that a tool reported.

    Parameters
    ----------
    spec : or the name of its benchmark.
    time_ns : (ranks, iterations) or (iterations,), ns, of the ranks 0, 1, …; None where there are only values.
    fields : of `Samples`. `reported` makes the origin "reported", unless it is given.
    """
    if time_ns is not None:
        times = np.atleast_2d(np.asarray(time_ns)).astype(np.int64)
        fields = {"time_ns": times, "ranks": tuple(range(len(times)))} | fields
    elif "reported" in fields:
        fields = {"origin": "reported", **fields, "reported": tuple(fields["reported"])}
    fields = {"effort": Effort(), "host": {}} | fields
    return Samples(spec=Spec(benchmark=spec) if isinstance(spec, str) else spec, launch=launch, **fields)


def values(metric: str = "latency_us", **statistics: float) -> Iterable[Reported]:
    """Values of a metric that a tool reported, by statistic: ``values(p50=2.0, p99=7.0)``."""
    return tuple(Reported(metric, METRICS[metric].unit, name, value) for name, value in statistics.items())
