"""A rank that does not run although processors are free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labkit import benchmarks
from labkit.judge import evidence
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import SELDOM, marked, throttled, waited
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Values
from labkit.models import bounds
from labkit.store.samples.facts import IDLEST_RANK, TIMED_S

_WAITED = 0.5  # part of the time without a processor in which some process waited for one, if the ranks compete


def test(case: Case) -> Finding | None:
    """A rank had a processor for a part of the time only, and no process waited for one."""
    polling = benchmarks.get(case.spec.benchmark).mpi and bounds.inside(case.samples) == "shared-memory"
    if not polling or marked(case, "oversubscription") or throttled(case) >= SELDOM:
        return None
    share = evidence.idlest(case.launches)
    waits = [known for one in case.launches if (known := waited(one)) is not None]
    if not waits or not 0 < share < evidence.POLLS:
        return None
    values: Values = {"rank": str(IDLEST_RANK.of(case.samples.meta)), "share": Value(value=share, unit=SHARE)}
    part = float(np.median([seconds / whole for seconds, whole in waits]))
    competing = [Evidence(code="waited", values={"waited": Value(value=min(part, 1.0), unit=SHARE)})]
    timed = TIMED_S.of(case.samples.meta)  # a launch also starts and checks, when nobody need wait
    lacked = [(1 - share) * (timed or whole) for _, whole in waits]
    explained = np.median([seconds for seconds, _ in waits]) >= _WAITED * np.median(lacked)
    limit, predicted = case.about.values.get("limit"), None
    if isinstance(limit, Value):
        predicted = replace(limit, value=limit.value * (share if case.rate else 1 / share), origin="computed", of="")
    against = competing if explained else []
    return CAUSE.found(case, [Evidence(code="idle", values=values)], against, predicted=predicted)


CAUSE = Cause(
    code="stopped-rank",
    name="a rank that is stopped",
    seen="a rank that polls shared memory had a processor for only part of the time, although processors were free",
    excluded="processes waited for a processor for at least half of the time that the rank lacked one: ranks or "
    "other programs compete",
    decides="the state of the ranks (ps -o pid,stat: T)",
    clues={
        "idle": "rank {rank} had a processor for {share} of the time",
        "waited": "processes waited for a processor in {waited} of the time, so the rank had to share one",
    },
    remedy="Look for a debugger, or a suspended job.",
    test=test,
)
