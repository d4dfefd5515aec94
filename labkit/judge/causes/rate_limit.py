"""A link, or a limit set on it, is slower than stated."""

from __future__ import annotations

import math
from dataclasses import replace

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, agreeing, narrow
from labkit.judge.causes._other_settings import on_path
from labkit.judge.causes._places import OTHERS, other_hosts
from labkit.judge.causes._sizes import FLAT, plateau, rising, without_fixed_cost
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Values, Wanted
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.models.inside import LINK
from labkit.point.units import KiB


def test(case: Case) -> Finding | None:
    """The bandwidth is constant above some size, and other benchmarks on the path reach the same."""
    if case.about.code == "collective-of-messages":
        return _of_messages(case)
    if case.about.code != "bandwidth-of-path" or not str(case.about.values.get("path", "")):
        return None
    if "within the host" in str(case.about.values["path"]) or case.about.values["path"] == "shared memory":
        return None
    flat, others, (free, without) = plateau(case), agreeing(case), _of_large(case)
    beyond = [*_beyond(case, without_fixed_cost(case) if free else case.measured.value), *other_hosts(case.samples)]
    if not others and not free and (more := rising(case)):
        return CAUSE.found(case, against=more)
    steady, usual = narrow(case), _usual(case)
    clues: list[Evidence] = [*flat, *others, *free, *steady, *usual]
    said = bool(flat or others or free or steady)
    known = others[0].values["value"] if others else None  # a separate value, and not the measured one again
    predicted = known if isinstance(known, Value) else case.measured if usual and (flat or steady) else None
    return CAUSE.found(case, clues if said else [], beyond if said else [], predicted=predicted, without=without)


def _of_large(case: Case) -> tuple[list[Evidence], Value | None]:
    """Return a clue if very large messages of this and another benchmark would also be far below the limit.

    A fixed cost of each message, such as a delay, hides a limit from small messages. What it leaves of two benchmarks
    is the same only on the path.
    """
    free, limit = without_fixed_cost(case), case.about.values.get("limit")
    if not isinstance(limit, Value) or not 0 < free < limit.value / LINK[1]:
        return [], None
    for one in case.others:
        same_path = one.values.get("path") == case.about.values.get("path")
        if not same_path or one.subject.benchmark == case.about.subject.benchmark or "measured" not in one.values:
            continue
        other = without_fixed_cost(replace(case, about=one))
        if other > 0 and abs(math.log(free / other)) <= FLAT:
            found = (Value(value=each, unit=limit.unit, origin="computed") for each in (free, other))
            values: Values = dict(zip(("own", "value"), found, strict=True)) | {"other": one.subject.benchmark}
            time = 1 / case.measured.value - 1 / free + 1 / limit.value  # of a byte, with a link as it should be
            return [Evidence(code="large", values=values)], replace(limit, value=1 / time, origin="computed")
    return [], None


def _usual(case: Case) -> list[Evidence]:
    """Return a clue if the bandwidth is that of a link with a usual rate, because limits are set in round numbers."""
    wire = bounds.path(case.samples, case.view.stated or Stated())
    directions = bounds.directions_of(case.about.subject.benchmark)
    if wire is None or not directions or not case.measured.value > 0:
        return []
    rate = case.measured.value * 1e6 * 8 / wire.efficiency.share / directions
    power = 10.0 ** math.floor(math.log10(rate))
    near = next((one * power for one in _ROUND if abs(rate / (one * power) - 1) <= _CLOSE), None)
    if near is None or near >= wire.rate / _MORE:
        return []
    return [Evidence(code="usual", values={"rate": Value(value=near / 1e6, unit="Mbit/s", origin="computed")})]


def _of_messages(case: Case) -> Finding | None:
    """Return the clue that messages between two hosts of the network miss their limit by the same factor."""
    limit = case.about.values.get("limit")
    if not case.networked or not isinstance(limit, Value):
        return None
    for one in case.all.get("bandwidth-of-path", ()):
        slow = one.level in ("bad", "doubtful") and one.form == "" and one.cost > 1 and one.certain
        if not slow or one.values.get("path") != case.about.values.get("path") or not _same_network(case, one):
            continue
        predicted = replace(limit, value=limit.value * one.cost, origin="computed", of="at the rate of these messages")
        share = Value(value=1 / one.cost, unit=SHARE)
        clue = Evidence(code="slow too", values={"other": str(one.subject), "share": share})
        missed = case.measured.value > _SLOWER * predicted.value
        return CAUSE.found(
            case, [clue], [Evidence(code="still", values={"predicted": predicted})] * missed, predicted=predicted
        )
    return None


def _same_network(case: Case, one: Finding) -> bool:
    spec = case.view.spec(one.subject.points[0])
    return spec is not None and (spec.testbed, spec.device) == (case.spec.testbed, case.spec.device)


def points(case: Case) -> list[Wanted]:
    """Return TCP with several streams between the same hosts, where the bytes crossed a link of Ethernet by TCP."""
    spec = case.spec
    if spec.benchmark == _STREAM or spec.transport in ("rc", "ud") or benchmarks.get(spec.benchmark).ends.rdma:
        return []
    return [Wanted(on_path(spec, _STREAM, _SIZE, streams=_STREAMS))]


def _beyond(case: Case, rate: float) -> list[Evidence]:
    """Return another benchmark that moves more than a rate in one direction over the same path, if one does."""
    least = _MORE * rate
    for one in case.others:
        value, path = one.values.get("measured"), one.values.get("path")
        if bounds.directions_of(one.subject.benchmark) != 1 or path != case.about.values.get("path"):
            continue
        if isinstance(value, Value) and value.unit == case.measured.unit and value.value > least:
            return [Evidence(code="beyond", values={"other": str(one.subject), "value": value})]
    return []


_STREAM, _STREAMS, _SIZE = "sockets.tcp_stream", 4, 64 * KiB
_ROUND = (1.0, 2.0, 2.5, 4.0, 5.0, 10.0)  # mantissas of usual rates
_CLOSE = 0.01  # part by which a rate differs from a usual one
_SLOWER = 2.5  # times what slow messages explain, from which something else must be wrong too
_MORE = 1.1  # times a limit of the path that a measurement cannot be
CAUSE = Cause(
    code="rate-limit",
    name="a slower link than stated, or a rate limit",
    seen="above some size the bandwidth is constant, launches agree, and benchmarks with another pattern reach "
    "the same; the bandwidth fits a link of a common rate; or very large messages of two benchmarks would reach the "
    "same",
    excluded="the bandwidth still grows with the size, and no other benchmark reaches the same; another benchmark "
    "moves more over the path; or other hosts moved bytes at the same time",
    decides="another benchmark with more streams over the same path",
    clues={
        **OTHERS,
        "beyond": "{other} reaches {value} over the same path",
        "flat": "{sizes} reach the same within {spread}",
        "large": "without a fixed cost of each message it would reach {own:3}, and {other} {value:3}",
        **EVEN,
        "usual": "that is a link of {rate}, a usual rate",
        "slow too": "messages between two hosts are as slow: {other} is {share} of what the path allows",
        "still": "at that rate it would take {predicted} only",
        "rising": "the bandwidth still grows by {growth} to the largest size",
    },
    remedy="Compare the rate with ethtool, ibstat and tc qdisc on both hosts and on the switch.",
    test=test,
    weak=("narrow",),
    points=points,
)
