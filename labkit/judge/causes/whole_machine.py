"""A disturbance of the whole machine."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding


def test(case: Case) -> Finding | None:
    """Other points were slow in the same launch at about the same time, so the cause is not in the point."""
    if (company := case.about.values.get("company")) is None:
        return None
    values = {"company": company, "launch": case.measured.of, "within": case.about.values["within"]}
    return CAUSE.found(case, [Evidence(code="company", values=values)])


CAUSE = Cause(
    code="whole-machine",
    name="a disturbance of the whole machine",
    seen="other points were slow at the same time",
    excluded="only this point was slow",
    decides="another time",
    clues={"company": "{company} slow in {launch} within {within}"},
    remedy="Look for what ran at that time, and measure again.",
    test=test,
    explains=("slow-launch",),
)
