"""Each message waits for a timer of the system."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, every, varied, with_options
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Wanted
from labkit.models import bounds

_TIMERS = {4e3: "tick", 40e3: "acknowledgement", 200e3: "timeout"}  # µs
_OF_TCP = ("acknowledgement", "timeout")
_NEAR = 0.1  # of a timer's time


def test(case: Case) -> Finding | None:
    """The excess of a round trip equals a well-known timer."""
    if case.measured.unit != "µs":
        return None
    limit = case.about.values.get("limit")
    least = limit.value if isinstance(limit, Value) else 0.0  # of a verdict: what a message takes without a wait
    waits = case.measured.value - least
    half = bounds.crossings_of(case.about.subject.benchmark) == 1  # of a round trip, in which it may wait once
    for (time, code), part in itertools.product(_TIMERS.items(), (1.0, 0.5) if half else (1.0,)):
        possible = _over_tcp(case) if code in _OF_TCP else case.about.kind == "violation"  # else it may be the path
        if possible and abs(waits / (part * time) - 1) <= _NEAR:
            values = {"share": Value(value=waits / part / time, unit=SHARE)}
            gone, stays = varied(case, points(case)) if case.about.kind == "violation" else ([], [])
            predicted = replace(case.measured, value=least + part * time, origin="computed")
            return CAUSE.found(case, [Evidence(code=code, values=values), *gone], stays, predicted=predicted)
    return None


def _over_tcp(case: Case) -> bool:
    """Return whether TCP carried the messages: by sockets, by what was requested, or between emulated hosts."""
    emulated = case.networked and case.spec.testbed.startswith("virtual-cluster")
    return benchmarks.get(case.spec.benchmark).ends.sockets or case.spec.transport == "tcp" or emulated


def points(case: Case) -> list[Wanted]:
    """Return the points with TCP_NODELAY, where the benchmark has this option and did not set it."""
    given = hasattr(benchmarks.get(case.spec.benchmark).options(), "nodelay")
    lacking = given and benchmarks.typed(case.spec).values.get("nodelay") is False
    return every(case, partial(with_options, nodelay=True)) if lacking else []


CAUSE = Cause(
    code="timer",
    name="each message waits for a timer",
    seen="the excess of a round trip is within 10 % of a well-known timer",
    excluded="the excess fits no timer",
    decides="TCP_NODELAY, or no other load",
    clues={
        "tick": "the wait is {share} of a tick of the scheduler, 4 ms",
        "acknowledgement": "the wait is {share} of TCP's delayed acknowledgement, 40 ms",
        "timeout": "the wait is {share} of TCP's least timeout, 200 ms",
        **VARIED,
    },
    remedy="Find out why the library waits for it: Nagle's algorithm, a lost packet, or a process that sleeps.",
    test=test,
    points=points,
    explains=("verdict", "size-jump"),
)
