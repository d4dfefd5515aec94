"""The emulated link is so slow or so far that the adapter sends again."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding
from labkit.point.testbed import parse


def test(case: Case) -> Finding | None:
    """The link has a limited rate, before which queues overflow, or a delay, after which answers come too late."""
    options = parse(str(case.rows[0]["testbed"]))[2]
    for name in ("rate", "delay"):
        if value := options.get(name):
            return CAUSE.found(case, [Evidence(code=name, values={"value": value})])
    return None


CAUSE = Cause(
    code="limited-link",
    name="a limit of the emulated link",
    seen="the testbed sets a rate or a delay",
    excluded="it sets none",
    decides="the same point without the limit",
    clues={
        "rate": "the queue before the slow link overflows, or is longer than the timeout: rate={value}",
        "delay": "answers come after the adapter's timeout: delay={value} in each direction",
    },
    remedy="Measure with a higher rate or a shorter delay, or with fewer bytes in flight.",
    test=test,
    explains=("lossless",),
)
