"""Points beside a point: those of its benchmark that differ from it in one setting only."""

from __future__ import annotations

import math

import pandas as pd

from labkit.judge.cause import Case
from labkit.judge.finding import Evidence, Value
from labkit.point.columns import METRICS, statistic_column
from labkit.read.records import headline_statistic
from labkit.read.records.factors import alike, differing, level

MORE = 0.1  # part by which a value must be better than another one for its setting to matter


def metric(case: Case) -> str:
    """Return the metric that the verdict is about."""
    names = ("bandwidth_MBps",) if case.about.code == "bandwidth-of-path" else ("round_trip_us", "latency_us")
    own = _own(case)
    point = own[own["fingerprint"] == case.fingerprint]
    columns = {name: statistic_column(name, headline_statistic(own, name)) for name in names}
    return next((name for name, one in columns.items() if one in own and point[one].notna().any()), names[0])


def beside(case: Case, column: str) -> list[tuple[str, Value]]:
    """Return levels and values of the points of the same size that differ from a point in one column only."""
    rows, name = _own(case), metric(case)
    if column not in rows:
        return []
    statistic = statistic_column(name, headline_statistic(rows, name))
    if statistic not in rows:
        return []
    rows = rows[rows["message_size_B"] == case.samples.spec.size]
    others = [one for one in differing(rows, skip=["fingerprint"]) if one != column]
    for group in alike(rows, others) if len(rows) else []:
        own = rows.iloc[group]
        if case.fingerprint in set(own["fingerprint"]):
            return [_value(row, name, statistic, column) for row in _not(own, case, statistic).to_dict("records")]
    return []


def better(case: Case, other: Value) -> float:
    """Return how many times as good another value is as that of the case."""
    mine, its = case.measured.value, other.value
    if not mine > 0 or not its > 0:
        return math.nan
    return its / mine if case.about.code == "bandwidth-of-path" else mine / its


def changed(case: Case, column: str, code: str) -> tuple[list[Evidence], list[Evidence]]:
    """Return that another level of a setting is better, and that all others are not; both may be empty.

    Parameters
    ----------
    code : of the clue where it is better; that where it is not is ``same``.
    """
    known = [(level, value) for level, value in beside(case, column) if math.isfinite(better(case, value))]
    if not known:
        return [], []
    level, best = max(known, key=lambda one: better(case, one[1]))
    values: dict[str, Value | str] = {"level": level, "value": best}
    if better(case, best) > 1 + MORE:
        return [Evidence(code=code, values=values)], []
    return [], [Evidence(code="same", values=values)]


def value_in(clues: list[Evidence]) -> Value | None:
    """Return the value in the first of the clues that `changed` returned; None without one."""
    value = clues[0].values["value"] if clues else None
    return value if isinstance(value, Value) else None


def _own(case: Case) -> pd.DataFrame:
    summary = case.view.summary
    return summary[summary["benchmark"] == case.about.subject.benchmark]


def _not(rows: pd.DataFrame, case: Case, statistic: str) -> pd.DataFrame:
    return rows[(rows["fingerprint"] != case.fingerprint) & rows[statistic].notna()]


def _value(row: dict[str, object], name: str, statistic: str, column: str) -> tuple[str, Value]:
    value, low, high = (float(str(row[one])) for one in (statistic, f"{name}_low", f"{name}_high"))
    return level(row[column]), Value(value=value, unit=METRICS[name].unit, low=low, high=high)
