"""Other programs take processor time."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import marked
from labkit.judge.finding import Finding


def test(case: Case) -> Finding | None:
    """Badges of the point's launches say so; a number that others reproduce, and that does not scatter, denies it."""
    clues = marked(case, "busy-machine")
    return CAUSE.found(case, clues, even(case), command="labkit doctor") if clues else None


CAUSE = Cause(
    code="busy-machine",
    name="busy machine",
    seen="launches whose processors other programs used",
    excluded="the value does not scatter, and another benchmark on the path has the same: load is never so even",
    decides="the same point on the idle machine",
    clues={"marked": "other programs used the processors in {marked} of {launches}", **EVEN},
    remedy="See with labkit doctor what else runs, end it, and measure again.",
    test=test,
)
