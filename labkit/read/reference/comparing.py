"""Choose the points that measure the same as a published number: same arguments, size, quantity and statistic."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.point.columns import statistic_column
from labkit.point.units import parse_size
from labkit.read.records.factors import level
from labkit.read.reference import ANY, LARGE, SMALL, Entry, Number, matching

if TYPE_CHECKING:
    import pandas as pd

# how labkit measures, or where: no argument of an experiment
_NEUTRAL = ("timing", "tool", "gid", "directory", "hugepages")


def with_arguments(rows: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows with these options, and the benchmark's defaults for all others.

    A log that does not state an option may have any value of it, unless `options` names it.

    Parameters
    ----------
    rows : of one benchmark, from `labkit.read.records.table` or `summary`.
    options : name → value, or `ANY`.
    """
    if rows.empty:
        return rows
    fields = dataclasses.fields(benchmarks.get(str(rows["benchmark"].iloc[0])).options)
    for field in fields:
        wanted = options.get(field.name, ANY if field.name in _NEUTRAL else field.default)
        column = f"option_{field.name}"
        if wanted == ANY or (column not in rows and field.name not in options):
            continue
        if column not in rows:
            return rows[:0]
        levels = rows[column].map(level)
        unstated = rows[column].isna() & (field.name not in options)
        rows = rows[(levels == level(_typed(wanted))) | unstated]
    return rows


def beside(rows: pd.DataFrame, metric: str) -> list[Entry]:
    """Return the published numbers of a metric whose arguments some of the rows have; the sizes need not be the same.

    Parameters
    ----------
    rows : of one benchmark, from `labkit.read.records.table` or `summary`.
    metric : as in `labkit.point.columns.METRICS`.
    """
    names = [str(name) for name in rows["benchmark"].unique()]
    return [one for one in matching(names, metric) if len(with_arguments(rows, one.number.options))]


def measured(number: Number, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a published number may be compared with.

    Where the paper speaks of small or large messages only, these are the rows of the smallest or the largest size.

    Parameters
    ----------
    number : that is published.
    rows : of one benchmark, from `labkit.read.records.table` or `summary`.
    """
    column = statistic_column(number.metric, number.statistic) if number.statistic else ""
    if rows.empty or str(rows["benchmark"].iloc[0]) not in number.benchmarks or column not in rows:
        return rows[:0]
    rows = with_arguments(rows[rows[column].notna()], number.options)
    return rows[_of_size(number, rows["message_size_B"])]


def _of_size(number: Number, sizes: pd.Series[int]) -> pd.Series[bool]:
    """Say which sizes are the number's."""
    if number.sizes:
        ends = [parse_size(size) for size in number.sizes]
        return (sizes >= ends[0]) & (sizes <= ends[-1])
    if number.size in (SMALL, LARGE):
        return sizes == (sizes.min() if number.size == SMALL else sizes.max())
    return sizes.notna()


def _typed(value: Any) -> Any:
    """Return a number as records hold it: as a float."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
