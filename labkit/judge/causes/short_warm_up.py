"""The warm-up was too short, so that the first timed iterations are slow."""

from __future__ import annotations

import numpy as np

from labkit.judge import iterations
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import same
from labkit.judge.finding import TIMES, Count, Evidence, Finding, Value
from labkit.read import records
from labkit.read.records import in_effect, rerun, statistic_of
from labkit.stats.lists import Lists

_MORE = 10  # times the warm-up that decides


def test(case: Case) -> Finding | None:
    """The first iterations take longer than the rest, and the value without them is another."""
    seconds = records.seconds(case.samples)
    if len(seconds) < iterations.FEWEST or not case.metric:
        return None
    start = dict(iterations.warm_up(Lists.of([seconds]))).get(0)
    if start is None:
        return None
    count, ratio = start.count, start.ratio
    middle = np.median if statistic_of(case.row, case.metric) == "p50" else np.mean
    factor = float(middle(seconds[count:]) / middle(seconds))
    value = case.measured.value / factor if case.rate else case.measured.value * factor
    without = Value(value=value, unit=case.measured.unit, origin="computed", of="without the first iterations")
    first = Evidence(code="first", values={"count": Count(count, "iteration"), "times": Value(value=ratio, unit=TIMES)})
    unchanged = [Evidence(code="unchanged", values={"value": without})] if same(value, case.measured.value) else []
    command = rerun.command(case.samples.spec, "-x", str(_MORE * max(count, in_effect.warmup(case.samples))))
    return CAUSE.found(case, [first], unchanged, without=without, command=command)


CAUSE = Cause(
    code="short-warm-up",
    name="a short warm-up",
    seen="the first timed iterations take longer than the rest",
    excluded="without them the value is the same",
    decides="the same point with more untimed iterations (-x)",
    clues={
        "first": "the first {count} take {times:3} the rest",
        "unchanged": "without the first iterations the value is {value}, the same",
    },
    remedy="Measure again with more untimed iterations (-x).",
    test=test,
)
