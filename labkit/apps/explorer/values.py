"""The values of a plot as a table that can be sorted and searched; only the rows on show are written as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from labkit.apps.explorer.view import SIZE, View, words
from labkit.figures.lines import HEADLINE, column, ends_of
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.notes import joined
from labkit.point.units import format_count, format_size
from labkit.read.records import headline_statistic
from labkit.read.records.factors import level
from labkit.read.records.value import Value

TAILS = ("p95", "p99", "max")
SHOWN = "shown"  # name of the column with the statistic that is drawn
_COUNTS = ("n", "launches")
_NOTES = ["badges", "warnings"]
_FACTS = ("campaign", "fingerprint", *_COUNTS, "basis", *_NOTES)


@dataclass(frozen=True)
class Page:
    """Rows of a table.

    Parameters
    ----------
    head : name, title, and whether it holds numbers, of each column.
    rows : key of the point (campaign and fingerprint), its name, and its cells.
    found : rows that the search leaves.
    total : all of them.
    """

    head: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    found: int
    total: int


def page(
    view: View,
    summary: pd.DataFrame,
    *,
    search: str = "",
    sort: str = "",
    falling: bool = False,
    most: int = 60,
    only: Collection[tuple[str, str]] = (),
) -> Page:
    """First rows of the values behind a view.

    Parameters
    ----------
    search : words that a row must have in its settings, its size or its notes.
    sort : column to sort by; empty for the order of the plot.
    falling : from the greatest to the least.
    most : rows to return.
    only : keys of the points to show; empty for all.
    """
    rows = view.rows(summary)
    if only:
        rows = rows[[key in only for key in zip(rows["campaign"], rows["fingerprint"], strict=True)]]
    if rows.empty:
        return Page([], [], 0, len(summary))
    texts = {name: rows[name].map(level) for name in view.series(rows)}
    if "campaign" in texts:
        texts["campaign"] = view.titled(rows["campaign"])
    if len(texts) == 0 and "transport" in rows:
        texts = {"transport": rows["transport"].map(level)}
    if view.x != SIZE:
        texts[view.x] = rows[view.x].map(level)
    if SIZE in rows:
        texts[SIZE] = rows[SIZE].map(lambda size: format_size(int(size)))
    wanted = search.lower().split()
    doubts = rows.reindex(columns=_NOTES).to_dict("records") if wanted else []
    notes = {"notes": pd.Series([_notes(row) for row in doubts], rows.index)} if wanted else {}
    kept = np.flatnonzero(_found(texts | notes, wanted, len(rows)))
    tails = [name for name in TAILS if not np.isnan(column(rows, view.metric, name)).all() and name != view.statistic]
    numbers = _numbers(view, rows, tails)
    if sort in numbers or sort in texts:
        keys = (numbers[sort] if sort in numbers else texts[sort].to_numpy())[kept]
        order, known = np.argsort(keys, kind="stable"), pd.notna(keys)  # what has no value comes last
        there = order[known[order]]
        kept = kept[np.concatenate([there[::-1] if falling else there, order[~known[order]]])]
    unit = view.unit or METRICS[view.metric].unit
    usual = headline_statistic(rows, view.metric) if view.statistic == HEADLINE else view.statistic
    titles = {name: words(name).removesuffix(" (B)") for name in texts}
    titles |= {SHOWN: f"{STATISTICS[usual].label} ({unit})", "ends": f"{_ends(rows, view.metric, usual)} ({unit})"}
    titles |= {name: f"{STATISTICS[name].label} ({unit})" for name in tails}
    titles |= {name: name for name in (*_COUNTS, "notes")}
    head = [{"name": name, "title": title, "number": name in numbers} for name, title in titles.items()]
    few = rows.iloc[kept[:most]]
    values = [view.values(few), *(view.values(few, name) for name in tails)]
    facts = few.loc[:, [name for name in _FACTS if name in few]].to_dict("records")
    cells = zip(kept[:most], facts, *values, strict=True)
    shown = [_cells(row, [series.iloc[i] for series in texts.values()], of_row) for i, row, *of_row in cells]
    return Page(head, shown, len(kept), len(rows))


def _ends(rows: pd.DataFrame, metric: str, statistic: str) -> str:
    """Return what the bounds beside the values mean: an interval, or with fewer launches a range."""
    low, _ = ends_of(rows, metric, statistic)
    labels = rows["headline"][~np.isnan(low)].unique().tolist() if "headline" in rows else []
    if len(labels) == 1:
        return str(labels[0])
    ranges = {one.startswith("range") for one in labels}
    return {(True,): "range of launches", (False,): "95 % interval"}.get((*ranges,), "interval or range")


def _found(texts: Mapping[str, pd.Series], wanted: Sequence[str], count: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows have all words in their texts."""
    found = np.ones(count, dtype=bool)
    if wanted and texts:
        whole = pd.concat(list(texts.values()), axis=1).agg(" ".join, axis=1).str.lower()
        for word in wanted:
            found &= whole.str.contains(word, regex=False).to_numpy()
    return found


def _numbers(view: View, rows: pd.DataFrame, tails: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Column → numbers to sort by."""
    shown = headline_statistic(rows, view.metric) if view.statistic == HEADLINE else view.statistic
    numbers = {SHOWN: column(rows, view.metric, shown)} | {name: column(rows, view.metric, name) for name in tails}
    plain = [name for name in (SIZE, view.x, *_COUNTS) if name in rows]
    return numbers | {name: rows[name].to_numpy(np.float64) for name in plain}


def _cells(row: Mapping[str, Any], texts: Sequence[str], values: Sequence[Value]) -> dict[str, Any]:
    """A row as text.

    Parameters
    ----------
    row : its facts.
    texts : texts that name its point.
    values : the statistic that is drawn, then its tail.
    """
    counts = [format_count(row["n"]), str(row.get("basis", row.get("launches", "")))]
    cells = [*texts, values[0].text, values[0].range, *(value.text for value in values[1:]), *counts, _notes(row)]
    name = ", ".join(text for text in texts if text)
    return {"key": [str(row["campaign"]), str(row["fingerprint"])], "name": name, "cells": cells}


def _notes(row: Mapping[str, Any]) -> str:
    """Badges and warnings of a row as text; a badge that a warning begins with is not repeated."""
    badges, warnings = ([str(one) for one in row.get(name) or ()] for name in _NOTES)
    return joined([one for one in badges if not any(text.startswith(one) for text in warnings)] + warnings)
