"""The root of a collective changes from iteration to iteration."""

from __future__ import annotations

from functools import partial

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, every, varied, with_options
from labkit.judge.finding import Evidence, Finding, Wanted


def test(case: Case) -> Finding | None:
    """The point was measured with a rotating root."""
    if case.rows[0].get("option_rotate") is not True:
        return None
    gone, stays = varied(case, points(case))
    return CAUSE.found(case, [Evidence(code="rotate"), *gone], stays)


def points(case: Case) -> list[Wanted]:
    """Return the point with one root."""
    return every(case, partial(with_options, rotate=False))


CAUSE = Cause(
    code="rotating-root",
    name="the root rotates, and some ranks are slower roots",
    seen="the option rotate is on",
    excluded="the root is always the same rank",
    decides="rotate=false",
    clues={"rotate": "rotate=true", **VARIED},
    remedy="Measure with -o rotate=false to see one root alone.",
    test=test,
    points=points,
    explains=("two-modes",),
)
