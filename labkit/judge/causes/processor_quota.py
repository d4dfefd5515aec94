"""A quota of processor time, as containers and batch jobs have it."""

from __future__ import annotations

from dataclasses import replace

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import SELDOM, throttled
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Values
from labkit.models import bounds
from labkit.point.conditions import RAISE_QUOTA
from labkit.point.units import format_number
from labkit.store.samples.facts import IDLEST_SHARE, PROCESSOR_QUOTA


def test(case: Case) -> Finding | None:
    """The ranks or the tool used up their quota in some periods, and waited for the next one."""
    share, quota = throttled(case), PROCESSOR_QUOTA.of(case.samples.meta)
    if not share >= 0:
        return None
    values: Values = {"share": Value(value=share, unit=SHARE), "quota": format_number(quota)}
    if share < SELDOM:
        return CAUSE.found(case, [], [Evidence(code="free", values=values)])
    return CAUSE.found(case, [Evidence(code="throttled", values=values)], predicted=_predicted(case))


def _predicted(case: Case) -> Value | None:
    """Return the value with the part of the time that ranks had a processor for, which wait by polling."""
    polling = benchmarks.get(case.spec.benchmark).mpi and bounds.inside(case.samples) == "shared-memory"
    limit, part = case.about.values.get("limit"), IDLEST_SHARE.of(case.samples.meta)
    if not polling or not isinstance(limit, Value) or not 0 < part < 1:
        return None
    return replace(limit, value=limit.value * (part if case.rate else 1 / part), origin="computed", of="")


CAUSE = Cause(
    code="processor-quota",
    name="a quota of processor time",
    seen="a control group limits the processor time in each period, and the processes used it up",
    excluded="the processes never used up their quota",
    decides="no quota",
    clues={
        "throttled": "processes waited in {share} of the periods: control groups give the time of {quota} processors",
        "free": "control groups give the time of {quota} processors, which was used up in {share} of the periods",
    },
    remedy=f"{RAISE_QUOTA[0].upper()}{RAISE_QUOTA[1:]}.",
    test=test,
    explains=("verdict", "size-jump", "slow-launch", "two-modes"),
)
