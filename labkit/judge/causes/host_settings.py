"""Settings of a host by which the kernel disturbs measurements."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import SCATTER, scattered
from labkit.judge.causes._settings import doubtful
from labkit.judge.finding import Evidence, Finding

_NAMES = ("NUMA balancing", "transparent huge pages", "clock source", "memory", "/dev/shm", "locked memory")


def test(case: Case) -> Finding | None:
    """A host has an unsuitable setting, and times scatter."""
    wrong = doubtful(case.samples, *_NAMES)
    if not wrong or not scattered(case):
        return None
    clues = [Evidence(code="setting", values={"name": one.name, "found": one.found}) for one in wrong]
    return CAUSE.found(case, [*clues, *scattered(case)], even(case), command=wrong[0].remedy)


CAUSE = Cause(
    code="host-settings",
    name="settings of the host",
    seen="the kernel may move or merge pages, or lacks memory or a good clock, and the times scatter",
    excluded="the value is even",
    decides="the setting that labkit doctor names",
    clues={"setting": "{name}: {found}", **SCATTER, **EVEN},
    remedy="Correct what labkit doctor names.",
    test=test,
    weak=("setting", *SCATTER),
)
