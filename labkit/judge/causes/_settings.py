"""Unsuitable settings of a host; they affect every point measured there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from labkit.point.conditions import Check, of_machine
from labkit.store.samples import Samples

_TEXTS = ("governor", "virtualisation", "huge_pages", "clock_source", "container")
_FLAGS = ("smt", "numa_balancing")
_NUMBERS = (
    "frequency_max_MHz",
    "numa_nodes",
    "memory_available_B",
    "memory_total_B",
    "shared_memory_free_B",
    "memory_lock_limit_B",
)


def doubtful(samples: Samples, *names: str) -> list[Check]:
    """Return the named checks that are not ok, without checks on missing or impossible facts."""
    return [one for one in of_machine(_read(samples.host)) if one.name in names and one.state != "ok"]


def _read(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a host that have their types: descriptions may come from anyone."""
    load = host.get("load")
    frequency = load.get("frequency_MHz") if isinstance(load, Mapping) else None
    sources, devices = host.get("clock_sources"), host.get("rdma_devices")
    facts = {name: host[name] for name in _TEXTS if isinstance(host.get(name), str)}
    facts |= {name: bool(host[name]) for name in _FLAGS if isinstance(host.get(name), int)}
    facts |= {name: host[name] for name in _NUMBERS if _number(host.get(name))}
    facts["load"] = {"frequency_MHz": frequency if _number(frequency) else None}
    facts["clock_sources"] = [one for one in sources if isinstance(one, str)] if isinstance(sources, list) else []
    facts["rdma_devices"] = devices if isinstance(devices, list) else []
    return facts


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
