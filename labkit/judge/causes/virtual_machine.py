"""A hypervisor that takes the processors away."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import SCATTER, marked, scattered
from labkit.judge.causes._settings import doubtful
from labkit.judge.finding import Evidence, Finding


def test(case: Case) -> Finding | None:
    """The hypervisor took processor time; or the host is virtual, and times scatter."""
    clues = marked(case, "stolen-time")
    virtual = doubtful(case.samples, "virtualisation")
    if virtual and (clues or scattered(case)):
        clues = [*clues, Evidence(code="virtual", values={"found": virtual[0].found}), *scattered(case)]
    return CAUSE.found(case, clues, even(case)) if clues else None


CAUSE = Cause(
    code="virtual-machine",
    name="virtual machine",
    seen="the hypervisor takes processor time, or the host is virtual and the times scatter",
    excluded="the value is even",
    decides="a physical machine",
    clues={
        "marked": "the hypervisor took processor time in {marked} of {launches}",
        "virtual": "the host is a {found}",
        **SCATTER,
        **EVEN,
    },
    remedy="Measure on a physical machine, or state in your text that it was virtual.",
    test=test,
    weak=("virtual", *SCATTER),
    explains=("verdict", "size-jump", "slow-launch", "two-modes"),
)
