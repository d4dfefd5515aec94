"""Values that a tool reported: columns of the metrics that labkit knows, and notes of all others."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from labkit.point import notes
from labkit.point.columns import METRICS, STATISTICS, split, statistic_column
from labkit.point.spec import Reported
from labkit.read.records import resolution
from labkit.store.samples.batch import Batch

Notes = tuple[notes.Note, ...]
Columns = dict[str, Any]  # name → (launches,) values


def numbers(batch: Batch) -> Columns:
    """Columns from the values that a tool reported; the others are in the column `further`."""
    columns = {
        statistic_column(one.name, one.statistic): batch.value(place)
        for place, one in enumerate(batch.reported)
        if _has_column(one)
    }
    return columns | resolution.steps(batch, columns)


def _has_column(value: Reported) -> bool:
    """Return whether a value that a tool reported has a separate column."""
    whole = value.rank is None and value.t is None and not value.labels
    return whole and value.name in METRICS and value.statistic in STATISTICS


def further(batch: Batch) -> list[Notes]:
    """Return the values of each launch without a column, each as a note."""
    parts = []
    for place, one in enumerate(batch.reported):
        if not _has_column(one):
            told = one.as_dict()
            labels = told.pop("labels", {})
            where = {name: told[name] for name in ("rank", "t") if name in told} | labels
            name = ", ".join([one.name, one.statistic, *(f"{name} {level}" for name, level in where.items())])
            coarse = resolution.coarse_values(batch, place).tolist()
            pairs = [*(told | labels | dict.fromkeys(("value", "shown"))).items()]  # all launches share them
            at = [[key for key, _ in pairs].index(own) for own in ("value", "shown")]
            parts.append((place, one.unit, name, pairs, at, coarse))
    found = []
    for row, values in enumerate(batch.values):
        noted = []
        for place, unit, name, pairs, (value, text), coarse in parts:
            shown = resolution.text(values[place], unit, coarse[row])
            own = pairs.copy()
            own[value], own[text] = ("value", values[place]), ("shown", shown)
            noted.append(notes.Note("value", f"{name}: {shown} {unit}".rstrip(), tuple(own)))
        found.append(tuple(noted))
    return found or [()] * len(batch)


_PERCENTILES = sorted(  # names are p and the digits of a percentage: p5, p50, p995
    (name for name in STATISTICS if re.fullmatch(r"p\d+", name)),
    key=lambda name: float(name[1:3] + "." + name[3:] + "0"),
)


def consistent(columns: Columns, warnings: list[Notes]) -> tuple[Columns, list[Notes]]:
    """Remove a tool's inconsistent percentiles: those beyond its extremes, or below a smaller percentile.

    Tools that count in a histogram can report a percentile above the maximum. labkit does not show such a value.

    Returns
    -------
    The columns, and the warnings of each launch with what was removed.
    """
    ignored: list[list[notes.Note]] = [[] for _ in warnings]
    nothing = np.full(len(warnings), math.nan)
    columns = dict(columns)
    for metric in dict.fromkeys(parts[0] for name in columns if (parts := split(name))):
        sign = -1 if METRICS[metric].kind == "rate" else 1  # the tail of a rate is its slow side
        ends = [sign * columns.get(statistic_column(metric, end), nothing) for end in ("min", "max")[::sign]]
        last, limit = np.where(np.isnan(ends[0]), -math.inf, ends[0]), ends[1]
        for name in _PERCENTILES:
            if (column := statistic_column(metric, name)) not in columns:
                continue
            value = sign * columns[column]
            wrong = (value < last) | (value > limit)
            for row in np.flatnonzero(wrong).tolist():
                given = sign * float(value[row])
                unit, words = METRICS[metric].unit, STATISTICS[name].label
                text = (
                    f"the tool's {words} of {given:.6g} {unit} contradicts its other statistics, so labkit ignores it"
                )
                ignored[row].append(notes.note("contradiction", text, column=column, value=given))
            if wrong.all():
                del columns[column]
            elif wrong.any():
                columns[column] = np.where(wrong, math.nan, columns[column])
            last = np.where(wrong | np.isnan(value), last, value)
    return columns, [(*given, *more) for given, more in zip(warnings, ignored, strict=True)]
