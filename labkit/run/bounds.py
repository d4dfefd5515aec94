"""Bounds the metadata of a point: keeps only the extremes of facts with an entry for each host, interface or rank."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from labkit.store.samples.facts import COUNTERS, EVIDENCE, EVIDENCE_ALONE, HOST_B, INTERFACE_B, LOOP_NS

MOST = 3 << 10  # B of the facts of a point, which leaves the rest of 4 KiB to its spec and effort
HOSTS = 16  # with their own counters, at most
INTERFACES = 4  # with totals over hosts, at most
_ROOMS = (1024, 512, 256, 128)  # B that one fact may take, tried in this order


def of_point(facts: Mapping[str, Any], shared: Iterable[str] = ()) -> dict[str, Any]:
    """Return those facts of a point that are too long, bounded.

    Parameters
    ----------
    shared : names of facts that the record of the start has.
    """
    own_facts = {name: value for name, value in facts.items() if name not in set(shared)}
    bounded: dict[str, Any] = {}
    for room in _ROOMS:
        bounded = _bounded(facts, room)
        if _length(own_facts | bounded) <= MOST:
            break
    return bounded


def _bounded(facts: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Return the facts that grow with hosts, interfaces, links or ranks, with the bytes that each takes."""
    bounded: dict[str, Any] = {}
    if HOST_B.given(facts):
        bounded[HOST_B.name] = by_host(HOST_B.of(facts), room)
    for fact in (INTERFACE_B, EVIDENCE, EVIDENCE_ALONE, COUNTERS):
        if _length(fact.of(facts)) > room:
            bounded[fact.name] = _largest(fact.of(facts), room)
    loops = LOOP_NS.of(facts)
    if len(loops) > 1 and _length(loops) > room:
        bounded[LOOP_NS.name] = [np.rint(np.mean(loops, axis=0)).astype(np.int64).tolist()]
    return bounded


def by_host(carried: Mapping[str, Mapping[str, Any]], room: int = _ROOMS[0]) -> dict[str, Any]:
    """Return what the interfaces of each host received and sent; of many hosts the totals and the extremes.

    Returns
    -------
    Host → interface → [B received, B sent]. Of more than `HOSTS`, or where these take more than `room` B: ``hosts``,
    their number; and of the busiest interfaces ``total``: interface → [B received, B sent]; ``least`` and ``most``:
    interface → [host, B received, B sent] of the host that received and sent the least and the most on it.
    """
    hosts = {host: {name: list(both) for name, both in counters.items()} for host, counters in carried.items()}
    if len(hosts) <= HOSTS and _length(hosts) <= room:
        return hosts
    rows: dict[str, list[list[Any]]] = {}
    for host, counters in hosts.items():
        for name, both in counters.items():
            rows.setdefault(name, []).append([host, *both])
    busiest = sorted(rows, key=lambda name: -sum(row[1] + row[2] for row in rows[name]))
    by_interface: dict[str, Any] = {}
    for count in range(INTERFACES, -1, -1):
        kept = {name: rows[name] for name in busiest[:count]}
        by_interface = {
            "hosts": len(hosts),
            "total": {name: [sum(row[1] for row in each), sum(row[2] for row in each)] for name, each in kept.items()},
            "least": {name: min(each, key=_carried) for name, each in kept.items()},
            "most": {name: max(each, key=_carried) for name, each in kept.items()},
        }
        if _length(by_interface) <= room:
            break
    return by_interface


def _carried(row: list[Any]) -> int:
    return int(row[1]) + int(row[2])


def _largest(counters: Mapping[str, int], room: int) -> dict[str, int]:
    """Return the largest of some counters that fit, in their order."""
    left, chosen = room, set[str]()
    for name in sorted(counters, key=lambda name: -counters[name]):
        left -= len(name) + len(str(counters[name])) + 4
        if left < 0:
            break
        chosen.add(name)
    return {name: value for name, value in counters.items() if name in chosen}


def _length(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")))
