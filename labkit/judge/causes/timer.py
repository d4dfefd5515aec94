"""Each message waits for a timer of the system."""

from __future__ import annotations

from functools import partial

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, every, varied, with_options
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Wanted

_TIMERS = {4e3: "tick", 40e3: "acknowledgement", 200e3: "timeout"}  # µs
_OF_TCP = ("acknowledgement", "timeout")
_NEAR = 0.1  # of a timer's time


def test(case: Case) -> Finding | None:
    """The time is that of a well-known timer."""
    if case.measured.unit != "µs":
        return None
    row, value = case.rows[0], case.measured.value
    crosses_tcp = row["transport"] == "tcp" or str(row["benchmark"]).startswith("sockets.")
    for time, code in _TIMERS.items():
        if abs(value / time - 1) <= _NEAR and (crosses_tcp or code not in _OF_TCP):
            values = {"value": case.measured, "share": Value(value=value / time, unit=SHARE)}
            gone, stays = varied(case, points(case))
            return CAUSE.found(case, [Evidence(code=code, values=values), *gone], stays)
    return None


def points(case: Case) -> list[Wanted]:
    """Return the points with TCP_NODELAY, where the benchmark has this option and did not set it."""
    given = hasattr(benchmarks.get(case.spec.benchmark).options(), "nodelay")
    lacking = given and benchmarks.typed(case.spec).values.get("nodelay") is False
    return every(case, partial(with_options, nodelay=True)) if lacking else []


CAUSE = Cause(
    code="timer",
    name="each message waits for a timer",
    seen="the time is that of a well-known timer within 10 %",
    excluded="the time is another",
    decides="the same point with TCP_NODELAY, or without other load",
    clues={
        "tick": "{value} is {share} of a tick of the scheduler, 4 ms",
        "acknowledgement": "{value} is {share} of TCP's delayed acknowledgement, 40 ms",
        "timeout": "{value} is {share} of TCP's least timeout, 200 ms",
        **VARIED,
    },
    remedy="Find out why the library waits for it: Nagle's algorithm, a lost packet, or a process that sleeps.",
    test=test,
    points=points,
    explains=("size-jump",),
)
