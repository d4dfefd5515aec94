"""Points in words: their names, the meaning of their values, and the values of all lines at one place."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping
from typing import Any

import pandas as pd

from labkit import benchmarks
from labkit.apps.explorer.view import SIZE, View
from labkit.point.columns import METRICS
from labkit.point.spec import Spec
from labkit.point.units import format_number, format_size
from labkit.read.records.factors import UNSTATED, level, text


def title(row: Mapping[str, Any], campaign: str) -> str:
    """A point in a few words: benchmark, size, path, what else is not usual, and the title of its campaign."""
    usual = dataclasses.asdict(benchmarks.get(row["benchmark"]).options())
    given = {name: level(row.get(f"option_{name}")) for name in usual}
    parts = [
        row["benchmark"],
        format_size(int(row[SIZE])) if row.get(SIZE) else "",
        row.get("transport") if row.get("transport") != UNSTATED else "",
        f"{text(row, 'ranks')} ranks" if row.get("ranks", 0) > 2 else "",
        *(f"{name}={text}" for name, text in given.items() if text not in (level(usual[name]), level(None))),
        row.get("testbed") if row.get("testbed") != "local" else "",
        campaign,
    ]
    return ", ".join(str(part) for part in parts if part)


def meaning(spec: Spec, metric: str, unit: str = "") -> str:
    """Return what a number of a point counts, in words; without a metric, what an iteration is.

    A ping-pong's latency is one way: half of an iteration.

    Parameters
    ----------
    unit : unit in which it is shown; empty for the metric's own.
    """
    benchmark = benchmarks.get(spec.benchmark)
    work = benchmark.metrics.get("latency_us")
    trips = work(benchmarks.typed(spec)) if work is not None else 1.0
    both = "a round trip: there and back" if trips == 2 else "one operation" if trips == 1 else f"{trips:g} operations"
    if not metric:
        return f"time of a whole iteration, which is {both}, in µs"
    unit, label = unit or METRICS[metric].unit, METRICS[metric].label
    if metric == "latency_us":
        how = {1.0: "one operation, a whole iteration", 2.0: "one way: half of an iteration, which is a round trip"}
        return f"{label} of {how.get(trips, f'one of {trips:g} operations of an iteration')}, in {unit}"
    return f"{label} in {unit}: {METRICS[metric].meaning[0].lower()}{METRICS[metric].meaning[1:].rstrip('.')}"


def at(view: View, summary: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """Table of the values of all lines at a point's place, as HTML; empty if there is no other line."""
    place = row.get(view.x)
    found = []
    for line in view.split(summary) if not view.relation and len(view.rows(summary)) else ():
        there = line.rows[line.rows[view.x] == place]
        if len(there):
            value = view.value(there.iloc[0].to_dict(), line.statistic)
            found.append((value.value, html.unescape(line.name), value))
    if len(found) < 2:
        return ""
    unit = view.unit or METRICS[view.metric].unit
    where = format_size(int(row[SIZE])) if view.x == SIZE else f"{view.x} {format_number(float(row[view.x]))}"
    cells = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{value.text} {unit}</td><td>{value.range}</td></tr>"
        for _, name, value in sorted(found, key=lambda one: one[0])
    )
    return f"<details open><summary>all lines at {html.escape(where)}</summary><table>{cells}</table></details>"
