"""Draw several metrics of the same unit in one figure, each as a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from labkit.errors import DataError
from labkit.figures.plotly import go
from labkit.figures.points import metric_of, versus_size
from labkit.point.columns import METRICS, STATISTICS
from labkit.read.records import headline_statistic


def several_metrics(
    summary: pd.DataFrame,
    metrics: Mapping[str, str] | Sequence[str],
    label: str,
    *,
    series: Sequence[str] = (),
    linear: bool = False,
) -> go.Figure:
    """Draw several metrics of one unit against message size.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    metrics : names from `labkit.point.columns.METRICS`, or name → what the legend calls it.
    label : label of the axis, without its unit, such as ``time``.
    series : further columns whose values make lines.
    linear : axis from 0 instead of a logarithm.

    Raises
    ------
    DataError
        If the units differ, a metric is unknown, or there is nothing to draw.
    """
    names = metrics if isinstance(metrics, Mapping) else {name: METRICS[name].label for name in metrics}
    units = {metric_of(summary, name).unit for name in names}
    if len(units) != 1:
        raise DataError(f"The metrics {', '.join(names)} have the units {', '.join(sorted(units))}. Draw those of one.")
    first = next(iter(names))
    statistic = headline_statistic(summary, first)
    parts = []
    for name, shown in names.items():
        prefix = f"{name}_"
        new_names = {c: f"{first}_{c.removeprefix(prefix)}" for c in summary if c.startswith(prefix)}
        replaced = [c for c in summary if c.startswith(f"{first}_") and name != first]
        part = summary.drop(columns=replaced).rename(columns=new_names).copy()  # copied: of one piece again
        part = part.assign(metric=shown)
        parts.append(part[part.get(f"{first}_{headline_statistic(part, first)}", pd.Series(dtype=float)).notna()])
    figure = versus_size(pd.concat(parts), first, series=[*series, "metric"], tail=None)
    text = label if statistic == "value" else f"{label}, {STATISTICS[statistic].label}"
    figure.update_layout(yaxis_title_text=f"{text} ({units.pop()})")
    if linear:
        figure.update_layout(yaxis={"type": "linear", "rangemode": "tozero"})
    return figure
