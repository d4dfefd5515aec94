"""Messages are too small for the path."""

from __future__ import annotations

import math
from dataclasses import replace

from labkit.judge import evidence
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, agreeing
from labkit.judge.causes._places import AGAIN, OTHERS, again_of_hosts, other_hosts
from labkit.judge.causes._sizes import curve, plateau, rising, without_fixed_cost
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.point.units import MiB

_LARGER = (MiB, 4 * MiB, 16 * MiB)


def test(case: Case) -> Finding | None:
    """The bandwidth still grows at the largest size. If other benchmarks reach the value, it is another limit."""
    if case.about.code != "bandwidth-of-path":
        return None
    if bounds.inside(case.samples) and not _fastest(case):  # its reference counts the costs of each message
        return None
    clues = rising(case)
    against = [*plateau(case), *(agreeing(case) if clues else [])]
    if clues:  # what was lost, overtaken, pushed aside or stopped delays small messages most
        against += [*again_of_hosts(case.samples), *other_hosts(case.samples), *_idle(case)]
    limit, free = case.about.values.get("limit"), without_fixed_cost(case)
    if not clues or not isinstance(limit, Value) or not free > 0:
        return CAUSE.found(case, clues, against)
    without = replace(limit, value=min(limit.value, free), origin="computed", of="messages without a fixed cost")
    return CAUSE.found(case, clues, against, without=without)


def _fastest(case: Case) -> bool:
    """Whether no other size reaches more."""
    _, values = curve(case)
    return not len(values) or case.measured.value >= values.max()


def _idle(case: Case) -> list[Evidence]:
    """Return the clue that a rank which polls had a processor for a part of the time only, if it is so."""
    share = evidence.idlest(case.launches) if bounds.inside(case.samples) == "shared-memory" else math.nan
    if not share < evidence.POLLS:
        return []
    return [Evidence(code="idle", values={"share": Value(value=share, unit=SHARE)})]


def points(case: Case) -> list[Wanted]:
    """Return larger messages."""
    return [Wanted(case.spec.replace(size=size)) for size in _LARGER]


CAUSE = Cause(
    code="small-messages",
    name="messages are too small",
    seen="the bandwidth still grows with the size at the largest sizes",
    excluded="the bandwidth is constant above some size, another benchmark on the path reaches the same, hosts "
    "retransmitted many segments, other hosts moved bytes, or a rank lacked a processor",
    decides="larger messages",
    clues={
        "rising": "the bandwidth still grows by {growth} to the largest size",
        "flat": "{sizes} reach the same within {spread}",
        "agrees": EVEN["agrees"],
        "idle": "the processor is the limit: a rank had one for {share} of the time only",
        **AGAIN,
        **OTHERS,
    },
    remedy="Measure larger messages.",
    test=test,
    points=points,
)
