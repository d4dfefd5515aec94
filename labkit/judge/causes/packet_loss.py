"""Packets that are lost and sent again."""

from __future__ import annotations

import math
import re

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.judge import evidence
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import ends_s
from labkit.judge.causes._places import AGAIN, MANY, again_of_hosts
from labkit.judge.causes._predicted import of_bandwidth
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value, Values
from labkit.point.adapters import bytes_of
from labkit.point.units import format_number, parse_duration
from labkit.store.samples import Samples
from labkit.store.samples.facts import EVIDENCE, SEGMENT_B, TESTBED, WRITTEN_B

_AGAIN_S = 0.2  # after which Linux sends a lost segment of TCP again, at the soonest (RFC 6298; TCP_RTO_MIN)
_USUAL_S = 0.02  # a median of so much at most was not delayed by that
_SEGMENT = 1448  # B of payload in a packet of 1500 B
REORDERED = "reordered_segments"  # counter of a host
_MISSING = 0.02  # part of the bytes
# counters of RDMA ports, of drivers and of a site's switches that grow when packets are lost
_LOST = re.compile(r"discard|packet_seq_err|out_of_sequence|ack_timeout|no_buffer|out_of_buffer", re.IGNORECASE)
_ENOUGH = 100_000  # B: counters are read a moment before and after, when other packets pass


def test(case: Case) -> Finding | None:
    """Adapters counted retransmissions, the testbed loses packets, or an iteration took as long as TCP waits."""
    samples = case.samples
    if not case.networked:
        return None
    counted = {name: evidence.total(samples, name) for name in evidence.AGAIN}
    known = {name: count for name, count in counted.items() if count is not None}
    clues = []
    if most := max(known.values(), default=0):
        name = next(name for name in known if known[name] == most)
        clues.append(Evidence(code="again", values={"count": str(most), "what": evidence.AGAIN[name]}))
    share = _stated(samples)
    if share:
        clues.append(Evidence(code="stated", values={"share": Value(value=share, unit=SHARE)}))
    missing, reordered = _missing(samples), evidence.total(samples, REORDERED) or 0
    again = again_of_hosts(samples) or _again_of_tool(case)
    if again and not missing and reordered and not clues:  # what overtook was sent again, but nothing was lost
        return CAUSE.found(case, again, [Evidence(code="reordered", values={"count": Count(reordered, "time")})])
    clues += [*again, *missing, *_counted(samples), *_waited(case)]
    packets = evidence.total(samples, "sent_pkts") or 0
    none = [Evidence(code="none", values={"packets": Count(packets, "packet")})] if packets and not any(clues) else []
    return CAUSE.found(case, clues, none, predicted=_predicted(case, share))


def _stated(samples: Samples) -> float:
    """Return the part of the packets that the testbed loses; 0 if it says nothing."""
    facts = TESTBED.of(samples.meta)
    percent = facts.get("loss_percent") or facts.get("loss") or 0
    return float(percent) / 100 if isinstance(percent, int | float) else 0.0


def _again_of_tool(case: Case) -> list[Evidence]:
    """Return the clue that the tool counted segments sent again, if they are many."""
    samples = case.samples
    counts = [one.value for one in samples.reported if one.name == "retransmits" and one.t is None]
    segments = WRITTEN_B.of(samples.meta) / (SEGMENT_B.of(samples.meta) or _SEGMENT)
    share = sum(counts) / segments if segments > 0 else 0.0
    if share < MANY:
        return []
    values: Values = {"count": f"{sum(counts):,.0f}", "share": Value(value=min(share, 1.0), unit=SHARE)}
    return [Evidence(code="of tool", values=values)]


def _counted(samples: Samples) -> list[Evidence]:
    """Return the counter of lost packets that grew most at an adapter or a switch."""
    counters = evidence.beside_protocols(samples).items()
    grown = {name: by for name, by in counters if _LOST.search(name.rpartition(".")[2])}
    if not grown:
        return []
    name = max(grown, key=lambda one: grown[one])
    return [Evidence(code="grown", values={"name": name, "count": f"{grown[name]:,}"})]


def _missing(samples: Samples) -> list[Evidence]:
    """Return the clue that hosts received fewer bytes than hosts sent, by the counters of an emulated network."""
    counters = bytes_of(EVIDENCE.of(samples.meta))
    sent, received = (
        sum(count for name, count in counters.items() if name.endswith(f".eth0.{end}"))
        for end in ("tx_bytes", "rx_bytes")
    )
    share = 1 - received / sent if sent > _ENOUGH else 0.0
    return [Evidence(code="missing", values={"share": Value(value=share, unit=SHARE)})] if share >= _MISSING else []


def _waited(case: Case) -> list[Evidence]:
    """Return the clue that the longest iteration took as long as TCP waits before it sends again."""
    ends = ends_s(case, "max")
    if ends is None or not ends[0] <= _USUAL_S or ends[1] < _AGAIN_S:
        return []
    values = {"longest": f"{format_number(ends[1] * 1e3)} ms", "median": f"{format_number(ends[0] * 1e3)} ms"}
    return [Evidence(code="waited", values=values)]


def _predicted(case: Case, share: float) -> Value | None:
    """Return what one stream of TCP reaches, where loss and delay are stated.

    M. Mathis, J. Semke, J. Mahdavi, T. Ott, The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR
    27(3), 1997: (MSS / RTT) × √(3/2) / √p.
    """
    delay = str(TESTBED.of(case.samples.meta).get("delay") or "")
    if case.about.code != "bandwidth-of-path" or not share or not delay:
        return None
    ends = benchmarks.get(case.samples.spec.benchmark).ends
    if ends.rdma or ends.datagrams:
        return None
    try:
        round_trip = 2 * parse_duration(delay)
    except SpecError:  # a text of the metadata, which may come from anyone
        return None
    return of_bandwidth(_SEGMENT / round_trip * math.sqrt(1.5 / share)) if round_trip > 0 else None


CAUSE = Cause(
    code="packet-loss",
    name="lost packets",
    seen="retransmission counters grow, fewer bytes arrive than are sent, or single iterations take as long as "
    "TCP's retransmission timeout",
    excluded="adapters counted none, or all bytes arrived and hosts detected reordered segments",
    decides="counters of both ends: ethtool -S, nstat, rdma statistic",
    clues={
        "again": "adapters counted {count} {what}",
        "grown": "{name} grew by {count}",
        "stated": "the testbed loses {share} of the packets",
        "waited": "the longest iteration took {longest}, half of them {median} or less: TCP waits 200 ms and more "
        "before it sends again",
        **AGAIN,
        "reordered": "the hosts received as many bytes as they sent, and noticed {count} that segments overtook others",
        "of tool": "the tool counted {count} segments sent again, {share} of all",
        "missing": "the hosts received {share} fewer bytes than they sent",
        "none": "adapters counted no retransmission among {packets}",
    },
    remedy="Look for errors and drops with ethtool -S and on the switch; replace cables; for RoCE, see PFC and ECN.",
    test=test,
)
