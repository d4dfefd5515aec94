"""Launches that are far slower than all others of their point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from labkit.judge.finding import TIMES, Count, Evidence, Finding, Value, Values
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import APART, FAR, IMPORTED, LEAST, REMEDY, slowest
from labkit.judge.view import View
from labkit.judge.view.points import HEADLINE_METRICS, Point, Row, Table, worse
from labkit.point import notes
from labkit.point.columns import METRICS
from labkit.read.records import HEADLINES

CLOSE = 15.0  # s within which launches of other points were slow too


def check(view: View) -> Iterator[Finding]:
    """Yield points with one launch far from all others, which agree."""
    found: list[Finding] = []
    moments: list[tuple[int, float]] = []
    for table in view.tables.values():
        for place, metric in _perhaps_slow(table):
            point = table.point(place, metric)
            assert point is not None
            if slow := slowest(point.values, worse(metric)):
                launches = [Row(view.record_columns, row) for row in table.launches_of(place).tolist()]
                found.append(_found(view, point, launches, *slow))
                own = launches[slow[0]]
                moments.append((int(own["launch"]), _seconds(str(own["start"]))))
    for one, count in zip(found, _company(moments), strict=True):
        company: Values = {"company": Count(count, "more point"), "within": Value(value=CLOSE, unit="s")}
        yield replace(one, values={**one.values, **company}) if count else one


def _perhaps_slow(table: Table) -> list[tuple[int, str]]:
    """Return points with possibly one launch far from the others, up to rounding, and the metric."""
    chosen, metrics = table.headlines(HEADLINE_METRICS)
    found: list[tuple[int, str]] = []
    for number, metric in enumerate(metrics):
        statistics = np.where(chosen == number, table.values(metric).statistic, -1)
        for places, _ in table.by_count:
            for statistic in np.unique(statistics[places]).tolist():
                points = places[statistics[places] == statistic]
                if statistic < 0 or table.launches[points[0]] < LEAST:
                    continue
                values = table.of_launches(points, metric, HEADLINES[statistic])
                logs = np.sort(np.log(values) * worse(metric), axis=1)
                gap, spread = logs[:, -1] - logs[:, -2], logs[:, -2] - logs[:, 0]
                slow = gap >= np.maximum(math.log(FAR), APART * spread) - 1e-9
                found += [(place, metric) for place in points[slow].tolist()]
    return sorted(found)


def _found(view: View, point: Point, launches: Sequence[Row], slow: int, times: float) -> Finding:
    """Return the finding of a slow launch."""
    launch, others = launches[slow], [*launches[:slow], *launches[slow + 1 :]]
    usual_codes = {one.code for other in others for one in (*other["badges"], *other["warnings"])}
    own = notes.once([launch["badges"], launch["warnings"]])
    alone = [one.text for one in own if one.code not in usual_codes]
    usual = [value for number, value in enumerate(point.values.tolist()) if number != slow]
    name, unit, origin = f"launch {launch['launch']}", METRICS[point.metric].unit, str(point.row["origin"])
    start = [Evidence(code="start", values={"start": str(launch["start"])})] * bool(launch["start"])
    return RULE.found(
        view.points(point.row, setting=view.setting(point.row)),
        cost=times,
        evidence=(*start, *(Evidence(code="note", values={"note": text}) for text in alone[:2])),
        command=view.again(point.row),
        measured=Value(
            value=float(point.values[slow]),
            unit=unit,
            launches=1,
            origin=origin,
            of=name,
            fingerprint=str(point.row["fingerprint"]),
        ),
        other=Value(
            value=float(np.median(usual)),
            unit=unit,
            low=min(usual),
            high=max(usual),
            launches=len(usual),
            origin=origin,
            of="the others",
        ),
        others=Count(len(usual), "other launch"),
        times=Value(value=times, unit=TIMES),
    )


def _company(moments: Sequence[tuple[int, float]]) -> list[int]:
    """Return for each slow launch, given by number and start, how many others were slow at about the same time."""
    near = [0] * len(moments)
    order = sorted((place for place, (_, at) in enumerate(moments) if not math.isnan(at)), key=moments.__getitem__)
    begin = end = 0
    for place in order:
        launch, at = moments[place]
        while moments[order[begin]][0] != launch or at - moments[order[begin]][1] > CLOSE:
            begin += 1
        end = max(end, begin)
        while end < len(order) and moments[order[end]][0] == launch and moments[order[end]][1] - at <= CLOSE:
            end += 1
        near[place] = end - begin - 1
    return near


def _seconds(start: str) -> float:
    """Return a moment in s; NaN if it is none."""
    try:
        return datetime.fromisoformat(start).timestamp()
    except ValueError:
        return math.nan


RULE = Rule(
    code="slow-launch",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="if the other launches agree, none is far from them",
    why="launches repeat the same work",
    says="{measured:named}, although the {others} agree on {other:interval} (at least {times:2})",
    clues={"start": "it started at {start}", "note": "{note}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
