"""Other programs take processor time."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import agreeing, narrow
from labkit.judge.finding import Count, Evidence, Finding

_CODES = ("busy-machine", "stolen-time")


def test(case: Case) -> Finding | None:
    """Badges of the point's launches say so; a number that others reproduce, and that does not scatter, denies it."""
    rows = case.view.rows_of(case.fingerprint)
    badges = case.view.records["badges"].to_numpy()[rows]
    marked = sum(any(note.code in _CODES for note in cell) for cell in badges)
    if not marked:
        return None
    clues = [Evidence(code="marked", values={"marked": str(marked), "launches": Count(len(rows), "launch")})]
    against = [*agreeing(case), *narrow(case)] if agreeing(case) else []
    return CAUSE.found(case, clues, against, command="labkit doctor")


CAUSE = Cause(
    code="busy-machine",
    name="busy machine",
    seen="launches whose processors other programs used",
    excluded="the value does not scatter, and another benchmark on the path has the same: load is never so even",
    decides="the same point on the idle machine",
    clues={
        "marked": "other programs used the processors in {marked} of {launches}",
        "agrees": "{other} reaches the same, {value}",
        "narrow": "its launches differ by {spread} only",
    },
    remedy="See with labkit doctor what else runs, end it, and measure again.",
    test=test,
)
