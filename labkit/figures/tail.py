"""Draw the tail of iterations: which share of them is worse than each value."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from labkit.figures.iterations import distribution
from labkit.figures.plotly import go
from labkit.point.columns import METRICS
from labkit.store.samples import Samples

_LEAST = 1e-9  # share that is drawn


def tail(samples: Iterable[Samples], metric: str) -> go.Figure:
    """Draw the share of iterations above each value (1 - F) on two logarithmic axes, a line per launch.

    Of a rate, the slow iterations are the tail: the share at or below each value (F).

    Parameters
    ----------
    samples : launches with samples; those with reported values only are left out.
    metric : metric of single iterations, as in `labkit.point.columns.METRICS`.

    Raises
    ------
    DataError
        If none has samples or the metric.
    """
    figure, cost = distribution(samples, metric), METRICS[metric].kind == "cost"
    least = 1.0
    for trace in figure.data:
        share = np.asarray(trace.y, np.float64)
        share = 1 - share if cost else share
        share = np.where(share > _LEAST, share, np.nan)  # a logarithm has no place for 0
        least, trace.y = min(least, float(np.nanmin(share))), share
    figure.update_layout(
        yaxis={
            "type": "log",
            "title": {"text": f"share of iterations {'above' if cost else 'at or below'}"},
            "range": [math.floor(math.log10(least)), 0.1],
            "tickformat": None,
        }
    )
    return figure
