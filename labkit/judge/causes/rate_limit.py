"""A link, or a limit set on it, is slower than stated."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, agreeing, narrow
from labkit.judge.causes._other_settings import on_path
from labkit.judge.causes._sizes import plateau, rising
from labkit.judge.finding import Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.point.units import KiB


def test(case: Case) -> Finding | None:
    """The bandwidth stays the same from some size on, and other benchmarks on the path have it too."""
    if case.about.code != "bandwidth-of-path" or not str(case.about.values.get("path", "")):
        return None
    if "within the host" in str(case.about.values["path"]) or case.about.values["path"] == "shared memory":
        return None
    flat, others, beyond = plateau(case), agreeing(case), _beyond(case)
    if not others and (more := rising(case)):
        return CAUSE.found(case, against=more)
    clues: list[Evidence] = [*flat, *others, *narrow(case)]
    said = bool(flat or others)
    return CAUSE.found(case, clues if said else [], beyond if said else [], predicted=case.measured)


def points(case: Case) -> list[Wanted]:
    """Return TCP with several streams between the same hosts, where the bytes crossed a link of Ethernet by TCP."""
    spec = case.spec
    if spec.benchmark == _STREAM or spec.transport in ("rc", "ud") or benchmarks.get(spec.benchmark).ends.rdma:
        return []
    return [Wanted(on_path(spec, _STREAM, _SIZE, streams=_STREAMS))]


def _beyond(case: Case) -> list[Evidence]:
    """Return another benchmark that moves more in one direction over the same path, if one does."""
    least = _MORE * case.measured.value
    for one in case.others:
        value, path = one.values.get("measured"), one.values.get("path")
        if bounds.directions_of(one.subject.benchmark) != 1 or path != case.about.values.get("path"):
            continue
        if isinstance(value, Value) and value.unit == case.measured.unit and value.value > least:
            return [Evidence(code="beyond", values={"other": str(one.subject), "value": value})]
    return []


_STREAM, _STREAMS, _SIZE = "sockets.tcp_stream", 4, 64 * KiB
_MORE = 1.1  # times a limit of the path that a measurement cannot be
CAUSE = Cause(
    code="rate-limit",
    name="a slower link than stated, or a rate limit",
    seen="the bandwidth stays the same from some size on, and benchmarks that work differently have the same",
    excluded="the bandwidth still grows with the size, and no other benchmark has the same; or another one moves more "
    "over the path",
    decides="another benchmark with more streams over the same path",
    clues={
        "beyond": "{other} reaches {value} over the same path",
        "flat": "{sizes} reach the same within {spread}",
        **EVEN,
        "rising": "the bandwidth still grows by {growth} to the largest size",
    },
    remedy="Compare the rate with ethtool, ibstat and tc qdisc on both hosts and on the switch.",
    test=test,
    points=points,
)
