"""Packets that overtake others."""

from __future__ import annotations

from dataclasses import replace

from labkit.judge import evidence
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._places import AGAIN, again_of_hosts
from labkit.judge.causes.packet_loss import REORDERED
from labkit.judge.finding import Count, Evidence, Finding, Value

_OFTEN = 5  # times during a launch: now and then it happens on every host


def test(case: Case) -> Finding | None:
    """The hosts of the point noticed that segments of TCP overtook others."""
    noticed = evidence.total(case.samples, REORDERED) if case.networked else None
    if noticed is None or noticed < _OFTEN:
        return None
    clue, again = Evidence(code="noticed", values={"count": Count(noticed, "time")}), again_of_hosts(case.samples)
    share = again[0].values["share"] if again and case.metric and case.rate else None  # of what crosses the link twice
    without = None
    if isinstance(share, Value) and share.value < 1:
        without = replace(case.measured, value=case.measured.value / (1 - share.value), origin="computed")
    return CAUSE.found(case, [clue, *again], without=without)


CAUSE = Cause(
    code="reordering",
    name="reordered packets",
    seen="hosts detected reordered TCP segments",
    excluded="hosts detected none",
    decides="counters of both ends: nstat -z TcpExtTCPSACKReorder TcpExtTCPDSACKRecv",
    clues={"noticed": "the hosts noticed {count} that segments of TCP overtook others", **AGAIN},
    remedy="Look for paths of unequal length that packets of one flow share: bonding by packet, adaptive routing.",
    test=test,
)
