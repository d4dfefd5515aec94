"""The emulated link is so slow or so long that the adapter retransmits."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, every, varied
from labkit.judge.finding import Evidence, Finding, Wanted
from labkit.point.testbed import parse


def test(case: Case) -> Finding | None:
    """The link has a limited rate, so that queues overflow, or a delay, so that answers come too late."""
    options = parse(case.spec.testbed)[2]
    for name in _LIMITS:
        if value := options.get(name):
            gone, stays = varied(case, points(case))
            return CAUSE.found(case, [Evidence(code=name, values={"value": value}), *gone], stays)
    return None


def points(case: Case) -> list[Wanted]:
    """Return the point without the limit."""
    kept = [part for part in case.spec.testbed.split(",") if part.partition("=")[0] not in _LIMITS]
    return every(case, lambda spec: spec.replace(testbed=",".join(kept)))


_LIMITS = ("rate", "delay")


CAUSE = Cause(
    code="limited-link",
    name="a limit of the emulated link",
    seen="the testbed sets a rate or a delay",
    excluded="the testbed sets none",
    decides="no limit",
    clues={
        "rate": "the queue before the slow link overflows, or is longer than the timeout: rate={value}",
        "delay": "answers come after the adapter's timeout: delay={value} in each direction",
        **VARIED,
    },
    remedy="Measure with a higher rate or a shorter delay, or with fewer bytes in flight.",
    test=test,
    points=points,
    explains=("lossless",),
)
