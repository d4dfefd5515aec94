"""The root of a collective changes from iteration to iteration."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding


def test(case: Case) -> Finding | None:
    """The point was measured with a rotating root."""
    return CAUSE.found(case, [Evidence(code="rotate")]) if case.rows[0].get("option_rotate") is True else None


CAUSE = Cause(
    code="rotating-root",
    name="the root rotates, and is not as fast on each rank",
    seen="the option rotate is on",
    excluded="the root is always the same rank",
    decides="the same point with rotate=false",
    clues={"rotate": "rotate=true"},
    remedy="Measure with -o rotate=false to see one root alone.",
    test=test,
    explains=("two-modes",),
)
