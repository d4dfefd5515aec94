"""Other programs take processor time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even, narrow
from labkit.judge.causes._launches import SELDOM, WIDE, marked, pressure, throttled
from labkit.judge.finding import SHARE, TIMES, Evidence, Finding, Value
from labkit.models import bounds
from labkit.models.costs import BENCHMARKS
from labkit.models.inside import LINK, MACHINE
from labkit.point.notes import has
from labkit.store.samples.facts import TESTBED

_CODE = "busy-machine"
_WAITED = 0.8  # part of the time in which some process waits
_LEAST = 0.05  # part of the processors that ranks get at least: the scheduler is fair


def test(case: Case) -> Finding | None:
    """Badges of the launches show it. An even value that other benchmarks reproduce excludes it."""
    clues = marked(case, _CODE) or _waited(case)
    if not clues:
        return None
    slower = _slower(case)
    times = float(np.median(slower)) if slower else 0.0
    limit = case.about.values.get("limit")
    predicted = None
    if times and isinstance(limit, Value):
        value = limit.value / times if case.rate else limit.value * times
        predicted = Value(value=value, unit=limit.unit, origin="computed", of="under this load")
    against = [*even(case), *_steady(case, slower), *_good_too(case), *_too_little(case, times)]
    return CAUSE.found(case, clues, against, predicted=predicted, command="labkit doctor")


def _waited(case: Case) -> list[Evidence]:
    """Return the clue that processes waited for a processor nearly all the time, although there was one for each rank.

    The kernel counts that (pressure stall information), also for programs that come and go too fast to be seen. It does
    not judge emulated hosts, because switches and other hosts wait for the same processors.
    """
    if TESTBED.of(case.samples.meta).get("nodes"):
        return []
    cores = case.samples.host.get("cpus_usable")
    if case.about.kind != "verdict" or not isinstance(cores, int) or case.spec.ranks > cores:
        return []
    if throttled(case) >= SELDOM:  # then they wait for their own quota
        return []
    shares = [share for one in case.launches if (share := pressure(one)) is not None]
    share = float(np.median(shares)) if shares else 0.0
    if share < _WAITED:
        return []
    return [Evidence(code="waited", values={"share": Value(value=min(share, 1.0), unit=SHARE)})]


def _slower(case: Case) -> list[float]:
    """Return, for each launch, how many times as long ranks take with the processors that others leave them.

    Launches without a count of the other processes' use are left out.
    """
    found = []
    for cell in case.view.records["warnings"].to_numpy()[case.view.rows_of(case.fingerprint)]:
        for note in cell:
            used, cores = (note.value(name) for name in ("processors", "cores"))
            if note.code == _CODE and isinstance(used, int | float) and isinstance(cores, int | float):
                left = max(float(cores) - float(used), _LEAST * float(cores))
                found.append(max(1.0, min(case.samples.spec.ranks, float(cores)) / left) if left > 0 else 1.0)
    return found


def _steady(case: Case, slower: Sequence[float]) -> list[Evidence]:
    """Return the clue that the value stayed the same although the load did not: what depends on the load follows it."""
    even_launches, change = narrow(case), max(slower) / min(slower) - 1 if slower else 0.0
    if case.about.kind != "verdict" or not even_launches or change < WIDE:
        return []
    values = {**even_launches[0].values, "change": Value(value=change, unit=SHARE)}
    return [Evidence(code="steady", values=values)]


def _too_little(case: Case, times: float) -> list[Evidence]:
    """Return the clue that the load explains less than half of what is missing, on the scale of factors.

    It does not judge a slow launch or some slow iterations, because they may have waited for a whole time slice.
    """
    cost = case.about.cost
    missing = cost / (MACHINE if bounds.inside(case.samples) else LINK)[0]  # beyond what is good
    if case.about.kind != "verdict" or not times or not cost > 1 or math.log(times) >= math.log(max(missing, 1.0)) / 2:
        return []
    values = {"times": Value(value=times, unit=TIMES), "cost": Value(value=cost, unit=TIMES)}
    return [Evidence(code="too little", values=values)]


def _good_too(case: Case) -> list[Evidence]:
    """Return a verdict on the same path that is good although all its launches were on the busy machine too.

    If the machine's own costs were measured under the load as well, the reference is too slow: then good shows nothing.
    """
    if bounds.inside(case.samples) and _costs_too(case):
        return []
    path = case.about.values.get("path")
    for one in case.others:
        if one.level == "good" and one.values.get("path") == path and one.subject.points:
            badges = case.view.records["badges"].to_numpy()[case.view.rows_of(one.subject.points[0])]
            if all(has(cell, _CODE) for cell in badges):
                return [Evidence(code="good too", values={"other": str(one.subject)})]
    return []


def _costs_too(case: Case) -> bool:
    """Return whether any cost of the machine without a network was measured under load."""
    records = case.view.records
    return any(has(cell, _CODE) for cell in records.loc[records["benchmark"].isin([*BENCHMARKS]), "badges"])


CAUSE = Cause(
    code="busy-machine",
    name="busy machine",
    seen="other programs used the processors, or processes waited for a processor",
    excluded="the value is even; the load changes by more than a tenth, and the value does not; another setting on "
    "the path is good under the same load, and its reference was measured without it; or the processor time that is "
    "left explains less than half of the factor",
    decides="the idle machine",
    clues={
        "marked": "other programs used the processors in {marked} of {launches}",
        "waited": "in {share} of the time some process waited for a processor, although there were enough for the "
        "ranks",
        "steady": "its launches differ by {spread} only, while the load would change them by {change}",
        "good too": "{other} is good under the same load",
        "too little": "with what others leave of the processors it is {times:2} as slow, not {cost:2}",
        **EVEN,
    },
    remedy="See with labkit doctor what else runs, end it, and measure again.",
    test=test,
    explains=("verdict", "size-jump", "slow-launch", "two-modes"),
)
