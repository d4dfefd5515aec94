"""Other programs take processor time."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import marked
from labkit.judge.finding import Evidence, Finding
from labkit.point.notes import has

_CODE = "busy-machine"


def test(case: Case) -> Finding | None:
    """Badges of the launches say so; a number that others reproduce, and that does not scatter, denies it."""
    clues = marked(case, _CODE)
    return CAUSE.found(case, clues, [*even(case), *_good_too(case)], command="labkit doctor") if clues else None


def _good_too(case: Case) -> list[Evidence]:
    """Return a verdict on the same path that is good although all its launches were on the busy machine too."""
    path = case.about.values.get("path")
    for one in case.others:
        if one.level == "good" and one.values.get("path") == path and one.subject.points:
            badges = case.view.records["badges"].to_numpy()[case.view.rows_of(one.subject.points[0])]
            if all(has(cell, _CODE) for cell in badges):
                return [Evidence(code="good too", values={"other": str(one.subject)})]
    return []


CAUSE = Cause(
    code="busy-machine",
    name="busy machine",
    seen="launches whose processors other programs used",
    excluded="the value does not scatter, and another benchmark on the path has the same: load is never so even; or "
    "another setting on the path is good under the same load",
    decides="the same point on the idle machine",
    clues={
        "marked": "other programs used the processors in {marked} of {launches}",
        "good too": "{other} is good under the same load",
        **EVEN,
    },
    remedy="See with labkit doctor what else runs, end it, and measure again.",
    test=test,
    explains=("verdict", "size-jump", "slow-launch", "two-modes"),
)
