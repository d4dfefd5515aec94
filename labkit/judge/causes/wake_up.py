"""Processes sleep until a message comes, and waking them takes long."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Count, Evidence, Finding, Value, Values
from labkit.models import bounds
from labkit.models.inside import WOKEN, of_host

_NEAR = 2.0  # times what wake-ups explain, up to which they are the cause


def test(case: Case) -> Finding | None:
    """The latency is that of messages which wake a thread on another core."""
    samples = case.samples
    if case.about.code != "latency-of-path" or case.about.values.get("what") != WOKEN:
        return None
    costs = of_host(samples, case.view.costs)
    slowest = costs.wake_up_apart
    near = costs.message(samples.spec.size or 0)
    if slowest is None or near is None:
        return None
    crossings = bounds.crossings_of(samples.spec.benchmark)
    unit = case.measured.unit
    wake = Value(value=slowest.value * 1e6, unit="µs", launches=slowest.launches, origin="measured")
    together = crossings * (near[1].value + slowest.value) * 1e6
    predicted = Value(value=together, unit=unit, origin="computed")
    values: Values = {"wake": wake, "count": Count(crossings, "wake-up"), "predicted": predicted}
    if case.measured.value > _NEAR * together:
        return CAUSE.found(case, against=[Evidence(code="missed", values=values)], predicted=predicted)
    return CAUSE.found(case, [Evidence(code="wakes", values=values)], predicted=predicted)


CAUSE = Cause(
    code="wake-up",
    name="wake-ups between cores",
    seen="processes sleep until a message comes, and the time is that of messages and of wake-ups on another core",
    excluded="messages and wake-ups take much less",
    decides="the same point with both processes on one core, or with programs that poll",
    clues={
        "wakes": "{count} of {wake} each on another core, and the messages, take {predicted} together",
        "missed": "{count} of {wake} each on another core, and the messages, take {predicted} only",
    },
    remedy="If small messages matter, run both processes on one core, or let them poll: both cost processor time.",
    test=test,
)
