"""Shared by several causes: whether other points reach the same value, as if it were a limit."""

from __future__ import annotations

import math

from labkit.judge.cause import Case
from labkit.judge.finding import SHARE, Evidence, Value

NEAR = 0.02  # part by which values differ that are called the same
EVEN = {
    "agrees": "{other} reaches the same, {value}",
    "narrow": "its launches differ by {spread} only",
}


def agreeing(case: Case) -> list[Evidence]:
    """Return the verdicts of other benchmarks on the same path with the same value; none for a violation."""
    if case.about.kind != "verdict":
        return []
    mine, path = case.measured, case.about.values.get("path")
    found = []
    for one in case.others:
        value = one.values.get("measured")
        other = one.subject.benchmark != case.about.subject.benchmark
        if other and one.values.get("path") == path and isinstance(value, Value) and same(mine.value, value.value):
            found.append(Evidence(code="agrees", values={"other": one.subject.benchmark, "value": value}))
    return found[:1]


def narrow(case: Case) -> list[Evidence]:
    """Return the clue that the launches of the point are alike, if they are."""
    value = case.measured
    if not (value.bounded and value.launches > 1 and value.high > 0):
        return []
    spread = value.high / value.low - 1 if value.low > 0 else math.inf
    return [Evidence(code="narrow", values={"spread": Value(value=spread, unit=SHARE)})] if spread <= NEAR else []


def even(case: Case) -> list[Evidence]:
    """Return the clues that another benchmark has the same value, and that launches are alike, as no disturbance is."""
    others = agreeing(case)
    return [*others, *narrow(case)] if others else []


def same(one: float, other: float) -> bool:
    """Whether two values are the same within `NEAR`."""
    return one > 0 and other > 0 and abs(math.log(one / other)) <= NEAR
