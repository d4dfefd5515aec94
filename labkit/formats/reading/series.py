"""Statistics of values that a tool lists one by one: pings, intervals of a stream, buckets of a histogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit import stats
from labkit.point.spec import Reported

_QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


def described(values: Sequence[float], name: str, unit: str, factor: float = 1.0) -> list[Reported]:
    """Return mean, minimum, maximum and percentiles of values; p95 and p99 only if there are enough.

    Parameters
    ----------
    values : at least one, finite.
    name, unit : name and unit of the reported values.
    factor : from a value to `unit`.
    """
    array = np.asarray(values, np.float64) * factor
    numbers = [("mean", array.mean()), ("min", array.min()), ("max", array.max())]
    numbers += [(p, stats.quantile(array, q)) for p, q in _QUANTILES if stats.given(p, len(array))]
    return [Reported(name, unit, statistic, float(value)) for statistic, value in numbers]
