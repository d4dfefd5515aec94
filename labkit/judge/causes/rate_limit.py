"""A link, or a limit set on it, is slower than stated."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, agreeing, narrow
from labkit.judge.causes._sizes import plateau, rising
from labkit.judge.finding import Evidence, Finding


def test(case: Case) -> Finding | None:
    """The bandwidth stays the same from some size on, and other benchmarks on the path have it too."""
    if case.about.code != "bandwidth-of-path" or not str(case.about.values.get("path", "")):
        return None
    if "within the host" in str(case.about.values["path"]) or case.about.values["path"] == "shared memory":
        return None
    flat, others = plateau(case), agreeing(case)
    if not others and (more := rising(case)):
        return CAUSE.found(case, against=more)
    clues: list[Evidence] = [*flat, *others, *narrow(case)]
    return CAUSE.found(case, clues if flat or others else [], predicted=case.measured)


CAUSE = Cause(
    code="rate-limit",
    name="a slower link than stated, or a rate limit",
    seen="the bandwidth stays the same from some size on, and benchmarks that work differently have the same",
    excluded="the bandwidth still grows with the size, and no other benchmark has the same",
    decides="another benchmark with more streams over the same path",
    clues={
        "flat": "{sizes} reach the same within {spread}",
        **EVEN,
        "rising": "the bandwidth still grows by {growth} to the largest size",
    },
    remedy="Compare the rate with ethtool, ibstat and tc qdisc on both hosts and on the switch.",
    test=test,
)
