"""The tool counts times in classes of a histogram."""

from __future__ import annotations

from functools import partial

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, every, varied, with_options
from labkit.judge.finding import Evidence, Finding, Wanted


def test(case: Case) -> Finding | None:
    """A note shows that labkit ignored a statistic that contradicts the tool's other statistics."""
    ignored = any(one.code == "ignored" for one in case.about.evidence)
    if not ignored:
        return None
    gone, stays = varied(case, points(case))
    return CAUSE.found(case, [Evidence(code="ignored"), *gone], stays)


def points(case: Case) -> list[Wanted]:
    """Return the point with a tool that reports each time, where the benchmark can have it."""
    tools = getattr(benchmarks.get(case.spec.benchmark).options, "__annotations__", {}).get("tool", "")
    return every(case, partial(with_options, tool=_EACH)) if _EACH in str(tools) else []


_EACH = "sockperf"  # reports the percentiles of all times, not of classes

CAUSE = Cause(
    code="histogram",
    name="the tool counts times in classes of a histogram",
    seen="labkit noted that the value contradicts the others",
    excluded="labkit noted nothing",
    decides="a tool that reports each time",
    clues={"ignored": "labkit ignores this value everywhere", **VARIED},
    remedy="",
    test=test,
    points=points,
    explains=("tail-order",),
)
