"""Packets that overtake others."""

from __future__ import annotations

from labkit.judge import evidence
from labkit.judge.cause import Case, Cause
from labkit.judge.causes.packet_loss import REORDERED
from labkit.judge.finding import Count, Evidence, Finding

_OFTEN = 5  # times during a launch: now and then it happens on every host


def test(case: Case) -> Finding | None:
    """The hosts of the point noticed that segments of TCP overtook others."""
    noticed = evidence.total(case.samples, REORDERED) if case.networked else None
    if noticed is None or noticed < _OFTEN:
        return None
    return CAUSE.found(case, [Evidence(code="noticed", values={"count": Count(noticed, "time")})])


CAUSE = Cause(
    code="reordering",
    name="reordered packets",
    seen="hosts detected reordered TCP segments",
    excluded="hosts detected none",
    decides="counters of both ends before and after the point: nstat -z TcpExtTCPSACKReorder TcpExtTCPDSACKRecv",
    clues={"noticed": "the hosts noticed {count} that segments of TCP overtook others"},
    remedy="Look for paths of unequal length that packets of one flow share: bonding by packet, adaptive routing.",
    test=test,
)
