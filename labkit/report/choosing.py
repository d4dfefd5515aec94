"""Choose the rows of a summary that represent a benchmark on a path, for tables without all settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from labkit.point import testbed_words
from labkit.point.columns import METRICS, split, statistic_column
from labkit.point.notes import joined
from labkit.point.units import format_size
from labkit.read.records import Value, headline_metric, headline_statistic, value_of
from labkit.read.records.factors import NONE, OPEN, differing, level, named, path_name
from labkit.report.markdown import escape

if TYPE_CHECKING:
    import pandas as pd

_PATH = ("transport", "testbed")


def metric_of(rows: pd.DataFrame, wanted: str = "") -> str:
    """Return the wanted metric if the rows have it, else their headline metric; empty without any."""
    has = any((parts := split(c)) and parts[0] == wanted and rows[c].notna().any() for c in rows.columns)
    return wanted if has else headline_metric(rows)


def curves(rows: pd.DataFrame, metric: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name of each path and one curve of a benchmark: the setting with the most points.

    `left_out` names the others.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    metric : metric that the points must have.
    """
    for name, group in by_path(rows, metric):
        curve = widest(group, _PATH)[0]
        yield name, curve.drop_duplicates("message_size_B").sort_values("message_size_B")


def left_out(rows: pd.DataFrame, metric: str, most: int) -> str:
    """Describe what the first curves of `curves` leave out; empty for nothing.

    Parameters
    ----------
    most : number of curves that are shown.
    """
    named = [*by_path(rows, metric)]
    words = [widest(group, _PATH)[1] for _, group in named[:most]] + [dropped(rows, having(rows, metric))]
    several = rows["testbed"].nunique() > 1  # else the testbed tells no paths apart
    paths = [
        f"{group['transport'].iloc[0]} on {testbed_words.in_words(str(group['testbed'].iloc[0]))}" if several else name
        for name, group in named[most:]
    ]
    chosen = rows["transport"].isin(OPEN)
    if not chosen.all():
        paths += [f"transport {name}" for name in dict.fromkeys(rows["transport"][chosen])]
    return joined(dict.fromkeys([*words, ", ".join(paths)]))


def having(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows that have the headline statistic of a metric; points timed as a whole have no median."""
    return rows[rows[statistic_column(metric, headline_statistic(rows, metric))].notna()]


def by_path(rows: pd.DataFrame, metric: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and all points of each path. A path that the library chose comes only if there is no other."""
    rows = having(rows, metric)
    named = rows[~rows["transport"].isin(OPEN)]
    rows = named if len(named) else rows
    for keys, group in rows.groupby(list(_PATH), sort=True):
        yield path_name(*map(str, keys)), group


def widest(rows: pd.DataFrame, drawn: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """Return the rows of the setting with the most points, and a description of the levels that this leaves out.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    drawn : columns that are not settings, because all their levels are shown.
    """
    others = [name for name in differing(rows) if name not in (*drawn, "fingerprint")]
    if not others:
        return rows, ""
    chosen = max((part for _, part in rows.groupby([rows[name].map(level) for name in others], sort=False)), key=len)
    return chosen, dropped(rows, chosen)


def dropped(rows: pd.DataFrame, shown: pd.DataFrame) -> str:
    """Describe the levels that some rows of a table do not have; empty for none."""
    words = []
    for name in differing(rows, skip=["fingerprint"]):
        kept = {*map(level, shown[name])}
        if gone := [text for text in dict.fromkeys(map(level, rows[name])) if text not in (*kept, NONE)]:
            words.append(f"{named(name)} {', '.join(gone)}")
    return joined(words)


def nearest(curve: pd.DataFrame, size: int) -> dict[str, Any]:
    """Return the row of a curve with the nearest size by ratio; the smaller one of two."""
    distance = [max(one + 1, size + 1) / min(one + 1, size + 1) for one in curve["message_size_B"]]
    row: dict[str, Any] = curve.iloc[distance.index(min(distance))].to_dict()
    return row


def shown(row: dict[str, Any], metric: str, *, size: bool = True) -> str:
    """Return a value with unit, interval and size, as Markdown."""
    value = value_of(row, metric)
    at = f" at {format_size(int(row['message_size_B']))}" if size and row["message_size_B"] else ""
    return hard(f"**{value.text}** {escape(value.unit)}{interval(value)}") + hard(at)


def interval(value: Value) -> str:
    """Return an interval in brackets, as Markdown; empty without one."""
    return "" if math.isnan(value.low) else f" {escape(f'[{value.range}]')}"


def hard(text: str) -> str:
    """Return a text with non-breaking spaces."""
    return text.replace(" ", "\u00a0")


def intervals(tables: Sequence[pd.DataFrame]) -> list[tuple[Value, dict[str, Any], str]]:
    """Return the points that have an interval or a range over launches: the value, the row, the metric.

    Points below the resolution of the clock, and points of tools that report only a curve, have none.

    Parameters
    ----------
    tables : rows of `labkit.read.records.summary`, a table for each benchmark.
    """
    found = []
    for rows in tables:
        metric = headline_metric(rows)
        for row in rows.to_dict("records") if metric else ():
            value = value_of(row, metric)
            if row["launches"] > 1 and not math.isnan(value.low):
                found.append((value, {str(k): v for k, v in row.items()}, metric))
    return found


def relative_widths(tables: Sequence[pd.DataFrame]) -> list[tuple[float, dict[str, Any], str]]:
    """Return the `intervals`, widest first: width as a part of the value, row, metric; without shares and values of 0.

    Parameters
    ----------
    tables : rows of `labkit.read.records.summary`, a table for each benchmark.
    """
    found = [
        ((value.high - value.low) / value.value, row, metric)
        for value, row, metric in intervals(tables)
        if value.value > 0 and METRICS[metric].kind != "share"
    ]
    return sorted(found, key=lambda one: -one[0])
