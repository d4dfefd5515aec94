"""Iterations are spaced in another way than those that they are compared with."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import Finding


def test(case: Case) -> Finding | None:
    """The same point with another cadence is better."""
    other = others(case, lambda column: column in ("option_cadence", "cadence"))
    return CAUSE.found(case, other.evidence, other.against, without=other.without, command=other.command)


CAUSE = Cause(
    code="cadence",
    name="cadence",
    seen="iterations back to back, after a barrier or from agreed moments give other values",
    excluded="another cadence gives the same",
    decides="the same point with another cadence",
    clues=CLUES,
    remedy="Compare points of one cadence only: a barrier before each iteration lets ranks start at different moments.",
    test=test,
)
