"""What metadata say of network adapters and of a testbed's links, read with types and limits.

Metadata may come from anyone: entries without a name are left out, and a number that cannot be true is unknown, 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MTU = (68, 1 << 20)  # B of a packet: IPv4 needs the first, no interface has the second
_FASTEST = 1e15  # bit/s


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A PCI Express link: speed as Linux prints it, and lanes; empty and 0 if unknown."""

    speed: str = ""
    width: int = 0


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A network interface or an RDMA device.

    Parameters
    ----------
    name, kind : as Linux names them; the kind of an RDMA device is its link layer.
    rate : rate of an interface, bit/s; 0 if it is unknown.
    port_rate : rate of an RDMA port, as Linux prints it; empty if it is unknown.
    mtu : B; 0 if it is unknown.
    down : whether it is known to be down.
    slot, best_slot : its PCI Express link, and what it could have.
    node : NUMA node that it is attached to; -1 if it is unknown.
    """

    name: str
    kind: str = ""
    rate: float = 0.0
    port_rate: str = ""
    mtu: int = 0
    down: bool = False
    slot: Slot = Slot()
    best_slot: Slot = Slot()
    node: int = -1


@dataclass(frozen=True, kw_only=True)
class Links:
    """Links of an emulated testbed.

    Parameters
    ----------
    shaped : rate of a host's link, bit/s; NaN without one, 0 if it cannot be read.
    uplink : rate between switches, bit/s; 0 without one.
    per_leaf : hosts below each switch; 0 without switches.
    slow : host → rate of its link, bit/s.
    rate, delay : rate and delay of the cable, as they were requested; empty without any.
    mtu : MTU of the interface, B; 0 if it cannot be read.
    """

    shaped: float = math.nan
    uplink: float = 0.0
    per_leaf: int = 0
    slow: Mapping[str, float]
    rate: str = ""
    delay: str = ""
    mtu: int = 1500


def interfaces(host: Mapping[str, Any]) -> dict[str, Adapter]:
    """Return the network interfaces of a host by their names.

    Examples
    --------
    >>> [*interfaces({"nics": [{"name": "eth0", "speed_Mbps": 1000}, {"speed_Mbps": "fast"}, 3]})]
    ['eth0']
    """
    return {one.name: one for one in _adapters(host.get("nics"))}


def ports(host: Mapping[str, Any]) -> dict[str, Adapter]:
    """Return the RDMA devices of a host by their names."""
    return {one.name: one for one in _adapters(host.get("rdma_devices"))}


def links_of(testbed: Mapping[str, Any]) -> Links:
    """Return the links of a testbed, from its description in the samples."""
    slow = testbed.get("slow_bps")
    known = slow.items() if isinstance(slow, Mapping) else ()
    return Links(
        shaped=_rate(testbed["rate_bps"]) if "rate_bps" in testbed else math.nan,
        uplink=_rate(testbed.get("uplink_bps")),
        per_leaf=per_leaf if isinstance(per_leaf := testbed.get("per_leaf"), int) and per_leaf > 0 else 0,
        slow={str(name): rate for name, value in known if (rate := _rate(value))},
        rate=_text(testbed.get("rate")),
        delay=_text(testbed.get("delay")),
        mtu=1500 if testbed.get("mtu") is None else _mtu(testbed["mtu"]),
    )


def bytes_of(counters: object) -> dict[str, float]:
    """Return name → bytes of counters; of an interface that received and sent, the larger number."""
    found: dict[str, float] = {}
    for name, value in counters.items() if isinstance(counters, Mapping) else ():
        both = value if isinstance(value, list | tuple) else [value]
        known = [_number(one) for one in both]
        if known and all(one >= 0 for one in known):
            found[str(name)] = max(known)
    return found


def _adapters(entries: object) -> Iterator[Adapter]:
    """Yield the adapters of a list that have a name."""
    for one in entries if isinstance(entries, list | tuple) else ():
        if isinstance(one, Mapping) and (name := _text(one.get("name"))):
            yield Adapter(
                name=name,
                kind=_text(one.get("kind")) or _text(one.get("link_layer")),
                rate=_rate(one.get("speed_Mbps"), 1e6),
                port_rate=_text(one.get("rate")),
                mtu=_mtu(one.get("mtu")),
                down=one.get("state") == "down",
                slot=_slot(one, "pcie"),
                best_slot=_slot(one, "pcie_max"),
                node=int(_number(one["numa_node"])) if isinstance(one.get("numa_node"), int) else -1,
            )


def _slot(entry: Mapping[str, Any], start: str) -> Slot:
    width = _number(entry.get(f"{start}_width"))
    lanes = int(width) if width in (1, 2, 4, 8, 12, 16, 32) else 0
    return Slot(speed=_text(entry.get(f"{start}_speed")), width=lanes)


def _mtu(value: object) -> int:
    size = _number(value)
    return int(size) if _MTU[0] <= size <= _MTU[1] else 0


def _rate(value: object, unit: float = 1.0) -> float:
    rate = _number(value) * unit
    return rate if 0 < rate <= _FASTEST else 0.0


def _number(value: object) -> float:
    """Return a finite number; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if abs(value) < 1e300 else 0.0  # also of NaN and of integers that no float holds


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
