"""Points with certain metrics and statistics, for rules about statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.point.columns import Metric
from labkit.read.records import statistics_of


def have(view: View, wanted: Callable[[Metric, str], bool]) -> NDArray[np.bool_]:
    """Return which points have a number of a wanted metric and statistic, (points,)."""
    columns = [~np.isnan(values) for metric, statistic, values in view.numbers if wanted(metric, statistic)]
    return np.asarray(np.any([np.zeros(len(view.summary), bool), *columns], axis=0), bool)


def means(view: View, wanted: Callable[[Metric], bool], *, only: bool) -> Iterator[tuple[Row, Metric]]:
    """Yield points and the wanted metrics with a mean; with `only`, without a better statistic."""
    columns, metrics = [], []
    for metric, statistic, values in view.numbers:
        if statistic == "mean" and wanted(metric):
            there = ~np.isnan(values)
            columns.append(there & (statistics_of(view.summary, metric.name) == "mean") if only else there)
            metrics.append(metric)
    for row, column in view.pairs(columns):
        yield row, metrics[column]
