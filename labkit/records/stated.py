"""Columns that the values a tool or an author stated fill."""

from __future__ import annotations

import math
from typing import Any

from labkit import stats
from labkit.columns import METRICS, STATISTICS, split, statistic_column
from labkit.notes import note
from labkit.samples import Samples


def numbers(samples: Samples) -> dict[str, float]:
    """Columns that a tool's own values fill; those of one stream, moment or cell stay in `reported`."""
    plain = [v for v in samples.reported if v.rank is None and v.t is None and not v.labels]
    known = [v for v in plain if v.name in METRICS and v.statistic in STATISTICS]
    return {statistic_column(v.name, v.statistic): float(v.value) for v in known}


def orderly(row: dict[str, Any]) -> dict[str, Any]:
    """A row without a tool's inconsistent percentiles: those beyond its own extremes, or below a smaller percentile.

    Tools that count in a histogram can state a percentile above the maximum; what contradicts itself is not shown.
    """
    said = []
    for metric in dict.fromkeys(parts[0] for name in row if (parts := split(name))):
        sign = -1 if METRICS[metric].kind == "rate" else 1  # the tail of a rate is its slow side
        ends = [sign * row.get(statistic_column(metric, end), math.nan) for end in ("min", "max")[::sign]]
        last, limit = -math.inf if math.isnan(ends[0]) else ends[0], ends[1]
        for name in stats.QUANTILES:
            value = sign * row.get(column := statistic_column(metric, name), math.nan)
            if value < last or value > limit:
                unit, words = METRICS[metric].unit, STATISTICS[name].label
                text = (
                    f"the tool's {words} of {sign * value:.6g} {unit} contradicts its other statistics, so labkit "
                    "ignores it"
                )
                said.append(note("contradiction", text, column=column, value=sign * value))
                del row[column]
            elif value == value:
                last = value
    row["warnings"] = (*row["warnings"], *said)
    return row
