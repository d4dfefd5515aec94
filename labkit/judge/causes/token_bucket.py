"""The emulated link lets a burst pass that it saved up."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding, Value


def test(case: Case) -> Finding | None:
    """A whole round trip takes longer than one direction needs."""
    time, least = case.measured, case.about.values["limit"]
    assert isinstance(least, Value)
    if time.unit != "µs" or 2 * time.value < least.value:
        return None
    both = Value(value=2 * time.value, unit=time.unit)
    return CAUSE.found(case, [Evidence(code="both", values={"both": both, "needed": least})])


CAUSE = Cause(
    code="token-bucket",
    name="the link is a token bucket, which saves up bytes while messages go the other way",
    seen="a round trip takes at least as long as one direction needs",
    excluded="a round trip is too short even for one direction",
    decides="a benchmark that sends in one direction only, over the same link",
    clues={"both": "a round trip takes {both}, of which one direction needs {needed}"},
    remedy="Do not judge the link by this latency; measure its bandwidth.",
    test=test,
    explains=("above-link",),
)
