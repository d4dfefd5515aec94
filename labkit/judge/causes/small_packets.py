"""Packets are so small that headers, and the work for each packet, take much of the rate."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._places import adapters
from labkit.judge.causes._predicted import MISSED, missed
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value
from labkit.models import links
from labkit.point.adapters import Adapter, bytes_of, links_of
from labkit.store.samples.facts import ACTIVE_MTU, EVIDENCE, SEGMENT_B, TESTBED

_USUAL, _JUMBO, _LARGEST = 1500, 9000, 4096  # B: Ethernet's, what fast Ethernet should have, and RDMA's
_FAST = 10e9  # bit/s from which an MTU of 1500 B costs noticeably


def test(case: Case) -> Finding | None:
    """The MTU is smaller than stated, or smaller than usual for the rate of the link."""
    if case.about.code != "bandwidth-of-path":
        return None
    found = (_of_interface(case, one) for one in adapters(case.samples) if one.mtu)
    return next(filter(None, found), None) or _of_port(case) or _of_segments(case)


def _of_interface(case: Case, nic: Adapter) -> Finding | None:
    """Judge the MTU of an Ethernet interface."""
    name, mtu, rate = nic.name, nic.mtu, nic.rate
    said = case.view.stated.mtu if case.view.stated else 0
    best = max(said, _JUMBO if rate >= _FAST else _USUAL)
    protocol = "udp" if benchmarks.get(case.samples.spec.benchmark).ends.datagrams else "tcp"
    if mtu >= best or mtu < _LEAST:
        return None
    now, then = links.ethernet(mtu, protocol).share, links.ethernet(best, protocol).share
    values: dict[str, Value | Count | str] = {
        "name": name,
        "mtu": str(mtu),
        "best": str(best),
        "gain": Value(value=then / now - 1, unit=SHARE),
    }
    command = f"ip link set dev {name} mtu {best}   # on all hosts and switches of the path"
    limit = case.about.values.get("limit")
    if (said <= mtu and rate >= _FAST) or not isinstance(limit, Value):  # each packet costs a processor's time too
        return CAUSE.found(case, [Evidence(code="small", values=values)], command=command)
    share = links.ethernet(said, protocol).share if said > mtu else now
    predicted = Value(value=limit.value * now / share, unit=limit.unit, origin="computed")
    clues = [Evidence(code="smaller" if said > mtu else "small", values={**values, "stated": str(said)})]
    return CAUSE.found(case, clues, missed(case, predicted), predicted=predicted, command=command)


def _of_port(case: Case) -> Finding | None:
    """Judge the active MTU of an RDMA port."""
    mtu = ACTIVE_MTU.of(case.samples.meta)
    if not 0 < mtu < _LARGEST or not benchmarks.get(case.samples.spec.benchmark).ends.rdma:
        return None
    gain = Value(value=links.roce(_LARGEST).share / links.roce(mtu).share - 1, unit=SHARE)
    values: dict[str, Value | Count | str] = {
        "name": "the RDMA port",
        "mtu": str(mtu),
        "best": str(_LARGEST),
        "gain": gain,
    }
    return CAUSE.found(case, [Evidence(code="small", values=values)])


def _of_segments(case: Case) -> Finding | None:
    """Judge the segments that a connection of TCP agreed on, or that hosts sent: they show the least MTU of a path."""
    segment, limit = SEGMENT_B.of(case.samples.meta) or _mean_segment(case), case.about.values.get("limit")
    said = case.view.stated.mtu if case.view.stated else 0
    mtu, usual = segment + _HEADERS, said or links_of(TESTBED.of(case.samples.meta)).mtu or _USUAL
    if not segment or mtu < _LEAST or mtu > _FULL * usual or not isinstance(limit, Value) or not case.networked:
        return None
    frame = links.SHAPED_FRAME if case.spec.testbed != "local" else links.FRAME
    now, then = (links.ethernet(one, "tcp", frame=frame).share for one in (mtu, usual))
    predicted = Value(value=limit.value * now / then, unit=limit.unit, origin="computed")
    values: dict[str, Value | Count | str] = {"segment": str(segment), "mtu": str(mtu), "best": str(usual)}
    return CAUSE.found(case, [Evidence(code="segment", values=values)], missed(case, predicted), predicted=predicted)


def _mean_segment(case: Case) -> int:
    """Return the mean payload of the segments of the host that sent most; 0 if they need not be full."""
    counters = bytes_of(EVIDENCE.of(case.samples.meta))
    sent = {name.partition(".")[0]: count for name, count in counters.items() if name.endswith(".sent_segments")}
    host = max(sent, key=lambda one: counters.get(f"{one}.eth0.tx_bytes", 0), default="")
    if case.spec.size < _BULK or sent.get(host, 0) < _ENOUGH:
        return 0
    mean = counters.get(f"{host}.eth0.tx_bytes", 0) / sent[host] - links.SHAPED_FRAME - _HEADERS
    return round(mean) if mean < _PART * (_USUAL - _HEADERS) else 0  # else the last segment of each message explains it


_BULK, _ENOUGH, _PART = 16384, 200, 0.8  # B of messages that fill segments; segments; part of a full segment
_HEADERS, _FULL = 52, 0.97  # B of IPv4 and TCP with time stamps; part of an MTU that options may take
_LEAST = 68  # B: least MTU of IPv4 (RFC 791)

CAUSE = Cause(
    code="small-packets",
    name="small packets",
    seen="the MTU is smaller than stated, or smaller than usual for the rate of the link",
    excluded="headers explain only a small part of the missing bandwidth, and the link is slow",
    decides="a larger MTU",
    clues={
        "small": "the MTU of {name} is {mtu} B: {best} B carry {gain} more payload in fewer packets",
        "smaller": "the MTU of {name} is {mtu} B, not {stated} B as stated",
        "segment": "segments of TCP carry {segment} B: the path has an MTU of about {mtu} B, not {best} B",
        **MISSED,
    },
    remedy="Set a larger MTU on all hosts and switches of the path.",
    test=test,
)
