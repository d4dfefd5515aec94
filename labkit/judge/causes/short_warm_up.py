"""The warm-up was too short, so that the first timed iterations are slow."""

from __future__ import annotations

import numpy as np

from labkit.judge import iterations
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import same
from labkit.judge.finding import TIMES, Count, Evidence, Finding, Value, Values, Wanted
from labkit.point.columns import statistic_column
from labkit.read import records
from labkit.read.records import in_effect, statistic_of
from labkit.stats.lists import Lists

_MORE = 10  # times the warm-up that decides


def test(case: Case) -> Finding | None:
    """The first iterations take longer than the rest, and the value differs without them."""
    start, seconds = _start(case), records.seconds(case.samples)
    if start is None or not case.metric:
        return None
    count, ratio = start.count, start.ratio
    middle = np.median if statistic_of(case.row, case.metric) == "p50" else np.mean
    factor = float(middle(seconds[count:]) / middle(seconds))
    value = case.measured.value / factor if case.rate else case.measured.value * factor
    without = Value(value=value, unit=case.measured.unit, origin="computed", of="without the first iterations")
    first = Evidence(code="first", values={"count": Count(count, "iteration"), "times": Value(value=ratio, unit=TIMES)})
    unchanged = [Evidence(code="unchanged", values={"value": without})] if same(value, case.measured.value) else []
    longer, same_with = _warmed(case)
    return CAUSE.found(case, [first, *longer], [*unchanged, *same_with], without=without)


def points(case: Case) -> list[Wanted]:
    """Return the point with a longer warm-up in each launch."""
    start = _start(case)
    if start is None:
        return []
    return [Wanted(case.spec, warmup=_MORE * max(start.count, in_effect.warmup(case.samples)))]


def _start(case: Case) -> iterations.Start | None:
    """Return the slow start of the first launch of a point; None without one."""
    seconds = records.seconds(case.samples)
    return dict(iterations.warm_up(Lists.of([seconds]))).get(0) if len(seconds) >= iterations.FEWEST_OF_STEP else None


def _warmed(case: Case) -> tuple[list[Evidence], list[Evidence]]:
    """Return the clue that launches with a longer warm-up have another value, or that they have the same value."""
    wanted, columns = points(case), case.view.record_columns
    rows = case.view.rows_with(wanted[0]).tolist() if wanted else []
    column = statistic_column(case.metric, statistic_of(case.row, case.metric))
    cold = [row for row in case.view.rows_of(case.fingerprint).tolist() if row not in {*rows}]
    if not wanted or len(rows) < wanted[0].launches or not cold:
        return [], []
    warm, before = (float(np.median(columns[column][some])) for some in (rows, cold))
    value = Value(value=warm, unit=case.measured.unit, launches=len(rows))
    alike = same(warm, before) or (warm < before if case.rate else warm > before)
    values: Values = {"count": Count(wanted[0].warmup, "untimed iteration"), "value": value}
    clue = [Evidence(code="warm too" if alike else "warm", values=values)]
    return ([], clue) if alike else (clue, [])


CAUSE = Cause(
    code="short-warm-up",
    name="a short warm-up",
    seen="the first timed iterations take longer than the rest",
    excluded="the value is the same without them",
    decides="more untimed iterations (-x)",
    clues={
        "first": "the first {count} take {times:3} the rest",
        "warm": "after {count} it is {value}",
        "warm too": "after {count} it is {value}, no better",
        "unchanged": "without the first iterations the value is {value}, the same",
    },
    remedy="Measure again with more untimed iterations (-x).",
    test=test,
    points=points,
)
