"""Specs resolved and named: with a launcher's name instead of ``auto``, the library behind it, and a fingerprint."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labkit import benchmarks, host, launch, testbeds, tools
from labkit.benchmarks import DeviceBenchmark, InterferenceBenchmark, ProgramBenchmark, ToolBenchmark
from labkit.host import allocation
from labkit.launch import Launcher, Placement
from labkit.measuring import interference, nodes, programs, simulations, unused
from labkit.spec import Effort, Spec


@dataclass(frozen=True)
class Named:
    """What specs have in common that differ in their size only.

    Parameters
    ----------
    spec : resolved, with a launcher's name.
    identity : of it, without options that have their defaults.
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
    unused.refuse(specs)
    by_work: dict[Spec, Named] = {}
    seen = set[Spec]()
    for spec in dict.fromkeys(specs):
        key = _sized(spec, 0)
        benchmark = benchmarks.get(spec.benchmark)
        if key in by_work and not isinstance(benchmark, ToolBenchmark | InterferenceBenchmark):
            resolved = by_work[key].sized(spec.size)
        else:
            resolved = by_work[key] = _named(benchmarks.resolve(spec), effort)
        if resolved.spec not in seen:
            seen.add(resolved.spec)
            yield resolved.spec, resolved.library, resolved.identity.fingerprint(resolved.facts)


def _named(spec: Spec, effort: Effort) -> Named:
    """A resolved spec with its names."""
    spec, library = _launched(spec, effort)
    return Named(spec, benchmarks.identity(spec), library, facts(spec, library))


def _launched(spec: Spec, effort: Effort) -> tuple[Spec, str]:
    """The spec with its launcher's name, and the library or tool behind it."""
    benchmark = benchmarks.get(spec.benchmark)
    spec = spec.replace(testbed=testbeds.resolved(spec.testbed))
    if network := testbeds.outline(spec.testbed).network:
        return simulations.placed(spec, network), simulations.library()
    if isinstance(benchmark, ToolBenchmark):
        testbeds.outline(spec.testbed).place(spec)  # refuses hosts that it has not, before it is brought up
        invocation = tools.available(benchmark.tools, spec, effort)
        if isinstance(benchmark, ProgramBenchmark):
            started, outline = programs.launcher(invocation, spec), testbeds.outline(spec.testbed)
            programs.with_ranks(invocation, spec, outline)  # refuses a transport it has not
            parts = (f"{invocation.tool} {tools.version(invocation.tool)}", *invocation.libraries, started.library)
            return _with_settings(spec, started, Placement.of(spec, started, outline)), ", ".join(parts)
        parts = (f"{invocation.tool} {tools.version(invocation.tool)}", *invocation.libraries)
        return spec.replace(launcher="none", ranks=1), ", ".join(parts)
    if not benchmark.mpi:
        return spec.replace(launcher="none"), "none"
    launcher, outline = launch.get(spec.launcher), testbeds.outline(spec.testbed)
    placed = interference.split(spec, outline)[0] if isinstance(benchmark, InterferenceBenchmark) else spec
    placement = Placement.of(placed, launcher, outline)
    launcher.command(placement, [])  # refuses a transport it has not
    return _with_settings(spec, launcher, placement), launcher.library


def _with_settings(spec: Spec, launcher: Launcher, placement: Placement) -> Spec:
    """The spec with its launcher's name, and what its ranks inherit as part of its setting."""
    environment = {**launch.inherited(launcher, placement), **dict(spec.environment)}
    return spec.replace(launcher=launcher.name, environment=environment)


def _sized(spec: Spec, size: int) -> Spec:
    """A spec for another size, which is known to be one; much quicker than `Spec.replace`."""
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
    if not isinstance(benchmarks.get(spec.benchmark), DeviceBenchmark) or spec.values.get("accelerator") != "cuda":
        return {}
    return {"gpu": ", ".join(sorted(set(host.gpus()))) or "none"}


def _spread(spec: Spec) -> dict[str, str]:
    """How many hosts of the batch job the ranks use, and which ranks leave the host that has slots for them all."""
    hosts = nodes.hosts(spec)
    if len(hosts) > 1:
        return {"nodes": str(len(hosts))}
    listed = not hosts and spec.hosts and spec.hosts[0] not in allocation.WORDS
    spread = launch.spread(spec.hosts, spec.ranks, spec.ppn) if listed and benchmarks.get(spec.benchmark).mpi else ""
    return {"spread": spread} if spread else {}
