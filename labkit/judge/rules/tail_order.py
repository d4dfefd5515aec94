"""Points whose percentiles are not in their order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from labkit.judge.finding import Evidence, Finding, Value
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY
from labkit.judge.view import View
from labkit.judge.view.points import Table, holding, worse
from labkit.point.columns import METRICS, STATISTICS, split, statistic_column

_ORDER = ("p50", "p95", "p99", "p999")


def check(view: View) -> Iterator[Finding]:
    """Yield points whose percentiles are not in order, and values of tools that labkit therefore ignored."""
    for table in view.tables.values():
        wrong = _wrong_tails(table)
        noted = holding(table.columns["warnings"], lambda cell: any(one.code == "contradiction" for one in cell))
        for place in sorted({*wrong, *np.flatnonzero(noted).tolist()}):
            row = table.row(place)
            for metric, (one, other) in wrong.get(place, ()):
                yield _found(view, row, metric, one, other)
            for note in row["warnings"]:
                if note.code == "contradiction" and (parts := split(str(note.value("column")))):
                    value = float(note.value("value") or 0.0)
                    median = float(row.get(statistic_column(parts[0], "p50"), math.nan))
                    yield _found(view, row, parts[0], (parts[1], value), ("p50", median), note.text)


def _wrong_tails(table: Table) -> dict[int, list[tuple[str, tuple[tuple[str, float], tuple[str, float]]]]]:
    """Return for each point with percentiles in the wrong order the metrics, with the first two of these."""
    wrong: dict[int, list[tuple[str, tuple[tuple[str, float], tuple[str, float]]]]] = {}
    for metric in dict.fromkeys(parts[0] for name in table.rows if (parts := split(str(name)))):
        sign = worse(metric) if METRICS[metric].kind != "share" else 1
        last, name_of_last = np.full(len(table), np.nan), np.zeros(len(table), np.intp)
        new = np.ones(len(table), bool)
        for number, name in enumerate(_ORDER):
            if statistic_column(metric, name) not in table.columns:
                continue
            values = table.columns[statistic_column(metric, name)]
            for place in np.flatnonzero(new & (sign * values < sign * last)).tolist():
                pair = ((name, float(values[place])), (_ORDER[name_of_last[place]], float(last[place])))
                wrong.setdefault(place, []).append((metric, pair))
                new[place] = False
            known = ~np.isnan(values)
            last[known], name_of_last[known] = values[known], number
    return wrong


def _found(
    view: View,
    row: Mapping[str, Any],
    metric: str,
    one: tuple[str, float],
    other: tuple[str, float],
    ignored: str = "",
) -> Finding:
    """Return the finding of two statistics in the wrong order; labkit may have ignored the first one."""
    measured, beside = (_value(row, metric, *each) for each in (one, other))
    low, high = sorted((one[1], other[1]))
    alone = math.isnan(other[1])
    return RULE.found(
        view.points(row, setting=view.setting(row)),
        level="doubtful" if ignored else None,
        form="alone" if alone else "",
        cost=high / low if low > 0 else math.nan,
        evidence=(Evidence(code="ignored", values={"note": ignored}),) if ignored else (),
        command=view.again(row),
        label=METRICS[metric].label,
        measured=measured,
        **({} if alone else {"other": beside}),
    )


def _value(row: Mapping[str, Any], metric: str, statistic: str, value: float) -> Value:
    return Value(
        value=value,
        unit=METRICS[metric].unit,
        launches=int(row["launches"]),
        origin=str(row["origin"]),
        of=STATISTICS[statistic].label,
        fingerprint=str(row["fingerprint"]),
    )


RULE = Rule(
    code="tail-order",
    kind="violation",
    level="bad",
    voids=True,
    about=PLAUSIBILITY,
    must="p50, p95, p99 and p99.9 are in this order",
    why="a percentile contains those below it",
    says={
        "": "the {label} of the tail contradicts its other statistics ({measured:named}; {other:named})",
        "alone": "the {label} of the tail contradicts its other statistics ({measured:named})",
    },
    clues={"ignored": "{note}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
