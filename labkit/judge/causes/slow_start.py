"""A connection of TCP begins with few segments, and waits for answers before it sends more."""

from __future__ import annotations

from dataclasses import replace

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._sizes import later, may_be_slow_start
from labkit.judge.finding import Evidence, Finding
from labkit.read.records import rerun


def test(case: Case) -> Finding | None:
    """Messages above some size take as many additional round trips as the slow start, and few preceded them."""
    step = later(case)
    if step is None or not may_be_slow_start(case, step):
        return None
    without = replace(case.measured, value=case.measured.value - step.more.value, origin="computed")
    longer = rerun.command(case.spec, "-x", str(_WARMUP), "--launches", "6")
    return CAUSE.found(case, [Evidence(code="trips", values=step.values)], without=without, command=longer)


_WARMUP = 20  # messages after which a window has grown beyond any message
CAUSE = Cause(
    code="slow-start",
    name="slow start of TCP",
    seen="messages of more than 10 segments take one more round trip, of more than 30 segments two more, and few "
    "messages preceded them",
    excluded="the step is at another size, or enough messages preceded it",
    decides="more untimed iterations (-x)",
    clues={
        "trips": "from {before} on a message takes {step} more than up to {after}: {trips} of the path, as many as an "
        "eager limit",
    },
    remedy="Measure with more untimed iterations; for single messages, keep connections busy, or raise initcwnd.",
    test=test,
    weak=("trips",),
)
