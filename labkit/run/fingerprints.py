"""Specs resolved and named: with a launcher's name instead of ``auto``, the library behind it, and a fingerprint."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labkit import benchmarks, host, testbeds
from labkit.host import allocation
from labkit.point.spec import Effort, Spec
from labkit.run import ignored_settings, launch, nodes, runner


@dataclass(frozen=True)
class Named:
    """What specs that differ only in their size have in common.

    Parameters
    ----------
    spec : resolved, with a launcher's name.
    identity : identity of it, without options that have their defaults.
    library : MPI library or tool, with its version.
    facts : what the fingerprint holds beside the spec.
    """

    spec: Spec
    identity: Spec
    library: str
    facts: Mapping[str, str]

    def sized(self, size: int) -> Named:
        """The same for another size, checked."""
        spec = benchmarks.checked(_sized(self.spec, size))
        return Named(spec, _sized(self.identity, spec.size), self.library, self.facts)


def named(specs: Sequence[Spec], effort: Effort) -> Iterator[tuple[Spec, str, str]]:
    """Every spec once: resolved, its library, its fingerprint. What does not depend on size is found out once.

    Raises
    ------
    SpecError
        If a spec is impossible.
    LaunchError
        If what a spec needs is not installed.
    """
    ignored_settings.refuse(specs)
    by_work: dict[Spec, Named] = {}
    seen = set[Spec]()
    for spec in dict.fromkeys(specs):
        key = _sized(spec, 0)
        if key in by_work and not benchmarks.get(spec.benchmark).by_size:
            resolved = by_work[key].sized(spec.size)
        else:
            resolved = by_work[key] = _named(benchmarks.resolve(spec), effort)
        if resolved.spec not in seen:
            seen.add(resolved.spec)
            yield resolved.spec, resolved.library, resolved.identity.fingerprint(resolved.facts)


def _named(spec: Spec, effort: Effort) -> Named:
    """A resolved spec with its names."""
    spec = spec.replace(testbed=testbeds.resolved(spec.testbed))
    spec, library = runner.runner_of(spec).launched(spec, effort)
    return Named(spec, benchmarks.identity(spec), library, facts(spec, library))


def _sized(spec: Spec, size: int) -> Spec:
    """A spec for another valid size; much quicker than `Spec.replace`."""
    copied = copy.copy(spec)
    object.__setattr__(copied, "size", size)
    return copied


def fingerprint(spec: Spec, library: str) -> str:
    """Name of a resolved spec's work here; the number of hosts is part of it where a batch job gives several."""
    return benchmarks.identity(spec).fingerprint(facts(spec, library))


def facts(spec: Spec, library: str) -> dict[str, str]:
    """What a fingerprint here holds beside the spec; the size does not matter."""
    if testbeds.outline(spec.testbed).network:
        return {"library": library}  # the same on every machine
    return host.identity(library) | _spread(spec) | _gpus(spec)


def _gpus(spec: Spec) -> dict[str, str]:
    """Models of this machine's GPUs, for a benchmark of these."""
    if not benchmarks.get(spec.benchmark).on_gpu(spec):
        return {}
    return {"gpu": ", ".join(sorted(set(host.gpus()))) or "none"}


def _spread(spec: Spec) -> dict[str, str]:
    """The number of the batch job's hosts that the ranks use, and the ranks that leave a host with slots for all."""
    hosts = nodes.hosts(spec)
    if len(hosts) > 1:
        return {"nodes": str(len(hosts))}
    listed = not hosts and spec.hosts and spec.hosts[0] not in allocation.WORDS
    spread = launch.spread(spec.hosts, spec.ranks, spec.ppn) if listed and benchmarks.get(spec.benchmark).mpi else ""
    return {"spread": spread} if spread else {}
