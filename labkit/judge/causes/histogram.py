"""The tool counts times in classes of a histogram."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding


def test(case: Case) -> Finding | None:
    """Labkit ignores what contradicts the other statistics of such a tool, and noted that."""
    ignored = any(one.code == "ignored" for one in case.about.evidence)
    return CAUSE.found(case, [Evidence(code="ignored")]) if ignored else None


CAUSE = Cause(
    code="histogram",
    name="the tool counts times in classes of a histogram",
    seen="labkit noted that the value contradicts the others",
    excluded="there is no such note",
    decides="the same point with a tool that reports each time",
    clues={"ignored": "labkit ignores this value everywhere"},
    remedy="",
    test=test,
    explains=("tail-order",),
)
