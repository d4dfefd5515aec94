"""Processors that save power, or change their frequency."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import SCATTER, marked, scattered
from labkit.judge.causes._settings import doubtful
from labkit.judge.finding import Evidence, Finding


def test(case: Case) -> Finding | None:
    """The frequency changed during launches; or the governor may change it, and times scatter."""
    clues = marked(case, "frequency-drift")
    governor = doubtful(case.samples, "CPU frequency")
    if governor and (clues or scattered(case)):
        clues = [*clues, Evidence(code="governor", values={"found": governor[0].found}), *scattered(case)]
    if not clues:
        return None
    return CAUSE.found(case, clues, even(case), command=governor[0].remedy if governor else "")


CAUSE = Cause(
    code="frequency",
    name="power saving",
    seen="the frequency changes during a launch, or the governor may change it and the times scatter",
    excluded="the value is even",
    decides="the governor 'performance'",
    clues={
        "marked": "the frequency changed in {marked} of {launches}",
        "governor": "{found}",
        **SCATTER,
        **EVEN,
    },
    remedy="Set the governor 'performance'; if it is set, look for heat and turbo.",
    test=test,
    weak=("governor", *SCATTER),
)
