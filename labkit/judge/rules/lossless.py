"""Adapters that retransmitted although their emulated link loses no packet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from labkit.judge import evidence
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY
from labkit.judge.view import View
from labkit.judge.view.points import in_files
from labkit.store.samples.facts import EVIDENCE


def check(view: View) -> Iterator[Finding]:
    """Yield points of an adapter that retransmitted although its emulated link loses no packet."""
    testbeds, names = (view.record_columns[name] for name in ("testbed", "fingerprint"))
    counted: dict[str, list[tuple[int, dict[str, int]]]] = {}
    counters = view.launches.fact(EVIDENCE) if view.launches else []
    counting = np.array([place for place, counts in enumerate(counters) if counts], np.intp)
    for place in in_files(view.record_columns, counting).tolist():
        counts = {name: evidence.sum_of(counters[place], name) or 0 for name in evidence.AGAIN}
        if any(counts.values()) and "loss=" not in testbeds[place]:
            sent = evidence.sum_of(counters[place], "sent_pkts") or 0
            counted.setdefault(str(names[place]), []).append((sent, counts))
    for fingerprint, launches in counted.items():
        if (row := view.row(fingerprint)) is None:
            continue
        packets = sum(sent for sent, _ in launches)
        total = {name: sum(counts[name] for _, counts in launches) for name in evidence.AGAIN}
        events = sum(total.values())
        measured = Value(
            value=events,
            unit="events",
            launches=len(launches),
            origin=str(row["origin"]),
            of="counters",
            fingerprint=fingerprint,
        )
        share: dict[str, Any] = {"share": Value(value=events / packets, unit=SHARE)} if packets else {}
        yield RULE.found(
            view.points(row, setting=view.setting(row)),
            form="share" if packets else "",
            evidence=tuple(
                Evidence(code="counter", values={"name": evidence.AGAIN[name], "count": str(count)})
                for name, count in total.items()
                if count
            ),
            command=view.again(row),
            measured=measured,
            packets=Count(packets, "packet"),
            **share,
        )


RULE = Rule(
    code="lossless",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="an adapter retransmits nothing on a link that loses nothing",
    why="no packet is missing",
    says={
        "": "the adapter retransmitted although the link loses nothing: {measured}",
        "share": "the adapter retransmitted although the link loses nothing: {measured}, {share} of {packets}",
    },
    clues={"counter": "{name}: {count}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
