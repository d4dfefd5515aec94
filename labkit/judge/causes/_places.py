"""NUMA nodes and cores on which the ranks of a point ran, on the host that the samples describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit import benchmarks
from labkit.judge import evidence
from labkit.judge.finding import SHARE, Evidence, Several, Value, Values
from labkit.models import bounds
from labkit.point.adapters import Adapter, bytes_of, interfaces, ports
from labkit.store.samples import Samples
from labkit.store.samples.facts import COUNTERS, DEVICE, EVIDENCE, RANK_AFFINITY, RANK_HOSTS


def ranks_of_first_host(samples: Samples) -> dict[int, list[int]]:
    """Return rank → processors of the ranks on rank 0's host; empty if unknown."""
    hosts, affinity = RANK_HOSTS.of(samples.meta), RANK_AFFINITY.of(samples.meta)
    if not hosts or len(hosts) != len(affinity):
        return {}
    return {rank: own for rank, (host, own) in enumerate(zip(hosts, affinity, strict=True)) if host == hosts[0] and own}


def nodes(host: Mapping[str, Any]) -> dict[int, int]:
    """Return processor → NUMA node; empty if unknown."""
    lists = host.get("numa_cpus")
    known = lists.items() if isinstance(lists, dict) else ()
    return {one: int(node) for node, text in known for one in _numbers(str(text)) if str(node).isdecimal()}


def cores(host: Mapping[str, Any]) -> dict[int, int]:
    """Return processor → number of its core; empty if unknown."""
    lists = host.get("core_cpus")
    known = lists if isinstance(lists, list) else ()
    return {one: place for place, text in enumerate(known) for one in _numbers(str(text))}


def _numbers(text: str) -> list[int]:
    """Return the numbers in a list of the kernel; none if the text is no such list.

    Examples
    --------
    >>> _numbers("0-2,8"), _numbers("many")
    ([0, 1, 2, 8], [])
    """
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal() or int(last or first) - int(first) > _MOST:
            return []
        found += range(int(first), int(last or first) + 1)
    return found


_MOST = 1 << 16  # processors of a range; of more, the text is not a list of the kernel


def adapters(samples: Samples) -> list[Adapter]:
    """Return the descriptions of the interfaces and RDMA devices that carried the bytes of a point.

    Interfaces of a testbed's hosts may have the same names as those that the samples describe, but are different.
    """
    if bounds.inside(samples) or samples.spec.testbed != "local":
        return []
    used = {bounds.carrier(samples), DEVICE.of(samples.meta), samples.spec.device.partition(":")[0]} - {""}
    known = (*interfaces(samples.host).values(), *ports(samples.host).values())
    return [one for one in known if one.name in used]


OTHERS = {"others": "meanwhile {hosts} moved {size} over the same network"}
_MUCH, _LEAST = 0.2, 100_000  # part of what the busiest host moved, and B, from which others count


def other_hosts(samples: Samples) -> list[Evidence]:
    """Return the clue that other hosts moved bytes over an emulated network during the point."""
    own = {*RANK_HOSTS.of(samples.meta)}
    if not own and ("senders" in samples.spec.values or not benchmarks.get(samples.spec.benchmark).ends.sockets):
        return []
    moved: dict[str, float] = {}
    for name, count in bytes_of(EVIDENCE.of(samples.meta)).items():
        host, interface, *_ = *name.split("."), "", ""
        if interface == "eth0":
            moved[host] = max(moved.get(host, 0.0), count)
    own = own or {*samples.spec.hosts}
    if not own:  # of a tool, with one end on each of two hosts; whichever two these are, others moved bytes too
        own = {*sorted(moved, key=lambda host: moved[host])[-2:]}
    others = {host: count for host, count in moved.items() if host not in own}
    most = max(others.values(), default=0.0)
    if most < _MUCH * max((moved.get(host, 0.0) for host in own), default=0.0) or most < _LEAST:
        return []
    names = sorted(host for host, count in others.items() if count >= _MUCH * most)
    values: Values = {"hosts": Several.of(names, "host"), "size": Value(value=most / 1e6, unit="MB")}
    return [Evidence(code="others", values=values)]


AGAIN = {"of hosts": "the hosts sent {count} segments of TCP again, {share} of all"}
MANY = 0.01  # part of the segments: a queue that overflows loses fewer


def again_of_hosts(samples: Samples) -> list[Evidence]:
    """Return the clue (one of `AGAIN`) that the hosts of the point retransmitted many TCP segments."""
    sent, again = (evidence.total(samples, f"{name}_segments") or 0 for name in ("sent", "retransmitted"))
    if not sent:  # no emulated network
        counters = COUNTERS.of(samples.meta)
        sent, again = (evidence.sum_of(counters, name) or 0 for name in ("OutSegs", "RetransSegs"))
    if not sent or again < MANY * sent:
        return []
    values: Values = {"count": f"{again:,}", "share": Value(value=again / sent, unit=SHARE)}
    return [Evidence(code="of hosts", values=values)]
