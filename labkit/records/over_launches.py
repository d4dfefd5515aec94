"""From records to a summary: one row per point over its launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

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


def _point(group: pd.DataFrame) -> dict[str, Any]:
    """One summary row from the launches of a point."""
    row: dict[str, Any] = {name: group[name].iloc[0] for name in group.columns if not split(name) and name != "launch"}
    row |= {name: _union(group[name]) for name in ("badges", "warnings", "unreliable", "stopped_by")}
    row |= {"n": int(group["n"].sum()), "verified": bool(group["verified"].all()), "start": group["start"].min()}
    row |= {
        "elapsed_s": group["elapsed_s"].sum(min_count=1),
        "launches": len(group),
        "headline": "",
        "spread_between": math.nan,
    }
    row |= {name: group[name].median() for name in ("ci_width", "spread_within", "timer_overhead_ns")}
    row |= {name: group[name].median() for name in group.columns if split(name)}
    for metric in dict.fromkeys(parts[0] for name in group.columns if (parts := split(name))):
        found = group.get(statistic_column(metric, headline_statistic(group, metric)), pd.Series(dtype=float)).dropna()
        if len(found):
            over = stats.headline(found)
            row |= {statistic_column(metric, "low"): over.low, statistic_column(metric, "high"): over.high}
            if not row["headline"]:
                row |= {"headline": over.label, "spread_between": stats.relative_spread(found)}
    return row


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
    rows = [_point(group) for _, group in records.groupby(list(key), sort=False)]
    names = [name for name in order(rows) if name != "launch"]
    place = names.index("n")
    frame = pd.DataFrame(rows, columns=[*names[:place], *SUMMARY, *names[place:]])
    return frame.sort_values(["benchmark", "message_size_B", "fingerprint"], ignore_index=True, kind="stable")
