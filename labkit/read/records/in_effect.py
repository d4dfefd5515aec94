"""Whether a setting that labkit proposes was already in effect during the measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.point.conditions import STEADY_GOVERNORS
from labkit.store.samples import Samples
from labkit.store.samples.facts import AFFINITY, RANK_AFFINITY, WARMUP


def bound(samples: Samples) -> bool:
    """Return whether each rank could run on one core only; False where the samples do not show it."""
    ranks = RANK_AFFINITY.of(samples.meta) or [AFFINITY.of(samples.meta)]
    threads, cores = (_count(samples.host, name) for name in ("cpu_threads", "cpu_cores"))
    return all(0 < len(processors) <= max(1, threads // cores) for processors in ranks)


def enough_cores(samples: Samples) -> bool:
    """Return whether each rank of a host can have a core; True where the samples do not show it."""
    spec = samples.spec
    here = spec.ppn or (spec.ranks if len(spec.hosts) < 2 else -(-spec.ranks // len(spec.hosts)))
    return "cpus_usable" not in samples.host or here <= _count(samples.host, "cpus_usable")


def pinned_frequency(host: Mapping[str, Any]) -> bool:
    """Return whether the governor of a host kept the frequency."""
    return host.get("governor") in STEADY_GOVERNORS


def warmup(samples: Samples) -> int:
    """Return the untimed iterations before each timed chunk; 0 if the samples do not show them."""
    return max(WARMUP.of(samples.meta), samples.effort.warmup or 0)


def _count(host: Mapping[str, Any], name: str) -> int:
    """Return a number of processors that a description states; 1 without one."""
    value = host.get(name)
    return value if isinstance(value, int) and value > 0 else 1
