"""From records to a summary: one row per point over its launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.columns import COLUMNS, METRICS, STATISTICS, SUMMARY, split, statistic_column

HEADLINES = ("p50", "mean", "value", "osu_mean")  # the statistic that stands for a metric, best first
GIVEN = ("option_", "env_")  # how columns begin that only some points have
KEY = ("fingerprint", "origin", "campaign")  # what makes rows repeats of one another


def order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns that occur, in the order of `labkit.columns`."""
    seen = dict.fromkeys(name for row in rows for name in row)
    numbers = [statistic_column(m, s) for m in METRICS for s in STATISTICS]
    given = sorted((n for n in seen if n.startswith(GIVEN)), key=lambda name: (name.startswith(GIVEN[1]), name))
    return [*COLUMNS, *(name for name in numbers if name in seen), *given]


def headline_statistic(frame: pd.DataFrame, metric: str) -> str:
    """Statistic that stands for a metric: the first of `HEADLINES` that any row has."""
    names = [s for s in HEADLINES if (c := statistic_column(metric, s)) in frame and frame[c].notna().any()]
    return names[0] if names else HEADLINES[0]


def _union(texts: Iterable[str]) -> str:
    """All parts of '; '-separated texts, each once, in order."""
    return "; ".join(dict.fromkeys(part for text in texts for part in text.split("; ") if part))


def _point(columns: Mapping[str, Any], middle: Mapping[str, float]) -> dict[str, Any]:
    """One summary row from the columns of a point's launches and their medians."""
    row: dict[str, Any] = {name: held[0] for name, held in columns.items() if not split(name) and name != "launch"}
    row |= {name: _union(columns[name]) for name in ("badges", "warnings", "unreliable", "stopped_by")}
    row |= {"n": int(columns["n"].sum()), "verified": bool(columns["verified"].all()), "start": min(columns["start"])}
    elapsed = columns["elapsed_s"]
    row |= {
        "elapsed_s": np.nansum(elapsed) if not np.isnan(elapsed).all() else math.nan,
        "launches": len(columns["n"]),
        "headline": "",
        "spread_between": math.nan,
    }
    row |= middle
    for metric in dict.fromkeys(parts[0] for name in columns if (parts := split(name))):
        found = next((held for s in HEADLINES if (held := _numbers(columns, metric, s)).size), np.empty(0))
        if found.size:
            over = stats.headline(found)
            row |= {statistic_column(metric, "low"): over.low, statistic_column(metric, "high"): over.high}
            if not row["headline"]:
                row |= {"headline": over.label, "spread_between": stats.relative_spread(found)}
    return row


def _numbers(columns: Mapping[str, Any], metric: str, statistic: str) -> NDArray[np.float64]:
    """Values of a statistic that are there."""
    held = np.asarray(columns.get(statistic_column(metric, statistic), ()), np.float64)
    return held[~np.isnan(held)]


def summary(records: pd.DataFrame, *, key: Sequence[str] = KEY) -> pd.DataFrame:
    """One row per point: the median over launches of every statistic, and an interval that says what it is.

    Parameters
    ----------
    records : from `table`.
    key : columns that make rows repeats of one another.

    Returns
    -------
    Columns of the records without launch, with n in total, and those of `labkit.columns.SUMMARY`;
    ``<metric>_low`` and ``<metric>_high`` enclose the median (mean where there is none) over launches. Unions
    of badges and warnings; `verified` only if every launch was.
    """
    groups = records.groupby(list(key), sort=False)
    numeric = ["ci_width", "spread_within", "timer_overhead_ns", *(name for name in records.columns if split(name))]
    medians = groups[numeric].median().to_dict("records")
    held = {name: records[name].to_numpy() for name in records.columns}
    places = [groups.indices[name] for name in groups.groups]  # by values
    rows = [
        _point({name: column[place] for name, column in held.items()}, middle)
        for place, middle in zip(places, medians, strict=True)
    ]
    names = [name for name in order(rows) if name != "launch"]
    place = names.index("n")
    frame = pd.DataFrame(rows, columns=[*names[:place], *SUMMARY, *names[place:]])
    return frame.sort_values(["benchmark", "message_size_B", "fingerprint"], ignore_index=True, kind="stable")
