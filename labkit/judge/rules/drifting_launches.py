"""Launches that rise or fall in the order of time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.finding import SHARE, Count, Decided, Finding, Subject, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.stats import shift
from labkit.stats.decision import RELEVANT

Floats = NDArray[np.float64]
_CHANCE = 0.025  # of a trend where there is none: over all points, and over the averages of benchmarks
_DECIDED = Decided(how="tested", test="Kendall", correction="Holm", error=_CHANCE)


def check(view: View) -> Iterator[Finding]:
    """Yield points, and benchmarks on average over their points, whose launches rise or fall in the order of time."""
    values, own = _medians(view), view.column("benchmark").astype(str)
    found: list[tuple[int, Floats, float]] = []
    series: list[tuple[NDArray[np.intp], Floats]] = []
    for points, rows in view.repeats:
        good = points[view.random[points]]
        medians = values[rows[view.random[points]]]
        known = (medians > 0).all(axis=1)
        good, medians = good[known], medians[known]
        if not len(good) or rows.shape[1] < stats.LAUNCHES:
            continue
        found += zip(good.tolist(), medians, shift.trends(medians)[1].tolist(), strict=True)
        logs = np.log(medians / np.median(medians, axis=1, keepdims=True))
        for name in dict.fromkeys(own[good].tolist()):
            of_benchmark = own[good] == name
            if of_benchmark.sum() > 1:
                series.append((good[of_benchmark], np.exp(logs[of_benchmark].mean(axis=0))))
    named = set()
    chances = shift.holm([shift.trend(average)[1] for _, average in series])
    for (points, average), p in zip(series, chances, strict=True):
        if p <= _CHANCE and abs(_rise(average)) >= RELEVANT:
            rows = view.summary.iloc[points]
            named.add(own[points[0]])
            yield _found(view.of_rows(rows), average, len(points))
    for (place, medians, _), p in zip(found, shift.holm([p for _, _, p in found]), strict=True):
        if p <= _CHANCE and abs(_rise(medians)) >= RELEVANT and own[place] not in named:
            yield _found(view.subject(Row(view.columns, place)), medians)


def _medians(view: View) -> Floats:
    """Return for each launch the value of the first metric that it has a median of, else a mean; NaN without one."""
    values = np.full(len(view.records), math.nan)
    for wanted in ("p50", "mean"):
        for metric, statistic, _ in view.numbers:
            name = f"{metric.name}_{statistic}"
            if statistic == wanted and name in view.records:
                column = view.records[name].to_numpy(np.float64)
                values = np.where(np.isnan(values), column, values)
    return values


def _rise(values: Floats) -> float:
    """Return the change from the first to the last launch, by Theil and Sen's slope, as a part of the median."""
    one, other = np.triu_indices(len(values), 1)
    slope = float(np.median((values[other] - values[one]) / (other - one)))
    return slope * (len(values) - 1) / float(np.median(values))


def _found(subject: Subject, values: Floats, points: int = 1) -> Finding:
    """Return the finding of a trend of one point, or on average over several."""
    rise = _rise(values)
    return RULE.found(
        subject,
        form=f"{'rise' if rise > 0 else 'fall'}{' on average' if points > 1 else ''}",
        decided=_DECIDED,
        launches=Count(len(values), "launch"),
        change=Value(value=abs(rise), unit=SHARE, launches=len(values)),
        points=Count(points, "point"),
    )


_RISE, _FALL = (f"{{launches}} {verb} by {{change}} in order of time" for verb in ("rise", "fall"))
_AVERAGE = ", on average over {points}"
RULE = Rule(
    code="drifting-launches",
    kind="violation",
    level="doubtful",
    must="launches of a point neither rise nor fall in order of time",
    why="the median depends on when the launches ran, and later ones would differ",
    says={
        "rise": _RISE,
        "fall": _FALL,
        "rise on average": f"{_RISE}{_AVERAGE}",
        "fall on average": f"{_FALL}{_AVERAGE}",
    },
    remedy="Look for what changed meanwhile (load, temperature, cache); measure again at another time.",
    imported="State the drift: the median over launches depends on when they ran.",
    check=check,
)
