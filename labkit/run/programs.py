"""Points of external tools and MPI programs: one start for each."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from labkit import benchmarks, formats, host, stats, testbeds, tools
from labkit.errors import LabkitError, LaunchError, SpecError, of_point
from labkit.host import allocation
from labkit.io import control_groups
from labkit.point import conditions
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.run import bounds, counted, launch, lines, nodes, paths
from labkit.run.launch import Launcher, Placement
from labkit.run.point import Failure, Point
from labkit.run.progress import Counter
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import CLOCK_NS, PROCESSOR_QUOTA, THROTTLED_SHARE, VERIFIED, complete, noted
from labkit.store.samples.start import Start
from labkit.testbeds import Testbed
from labkit.tools import Invocation, Place
from labkit.worker import counters

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
COMMANDS = 512  # B of command lines from which they are a part of the start's record


def launched(spec: Spec, effort: Effort) -> tuple[Spec, str]:
    """Return a spec with the launcher of its ranks if it has any, and its tool with the libraries behind it."""
    outline = testbeds.outline(spec.testbed)
    refuse_place(spec, outline)
    outline.place(spec)  # refuses hosts that it has not, before it is brought up
    invocation = tools.available(benchmarks.tools_of(spec.benchmark), spec, effort)
    parts = (f"{invocation.tool.name} {tools.version(invocation.tool.name)}", *invocation.libraries)
    if not benchmarks.get(spec.benchmark).mpi:
        return spec.replace(launcher="none", ranks=1), ", ".join(parts)
    started = launcher(invocation, spec)
    with_ranks(invocation, spec, outline)  # refuses a transport it has not
    placement = Placement.of(spec, started, outline)
    return lines.with_settings(spec, started, placement), ", ".join((*parts, started.library))


def refuse_place(spec: Spec, testbed: Testbed) -> None:
    """Refuse a testbed or hosts on which the ends of a tool cannot run.

    Raises
    ------
    SpecError
        If a Unix socket would have to leave its host, services would share a guest, or the spec names other hosts that
        neither the testbed nor a Slurm job has.
    """
    benchmark, job = benchmarks.get(spec.benchmark), allocation.current()
    ends = benchmark.ends
    if ends.transports and spec.transport == "unix" and (testbed.hosts or testbed.guest):
        raise SpecError(f"{spec.benchmark}: transport=unix stays inside one host. Set testbed=local, or transport=tcp.")
    if ends.where == "all" and testbed.guest:
        raise SpecError(
            f"{spec.benchmark}: testbed={spec.testbed}, but services run here or on a virtual cluster. "
            "Set testbed=virtual-cluster:4."
        )
    in_job = job is not None and job.system == "slurm" and spec.testbed == "local" and ends.where != ""
    serves = not (benchmark.mpi or ends.rdma or ends.where in ("unix", "none"))
    if serves and not in_job and not testbed.hosts and set(spec.hosts) - LOOPBACK:
        raise SpecError(
            f"--hosts {','.join(spec.hosts)}, but {spec.benchmark} starts its server on this machine "
            "and measures the loopback. Leave --hosts out, name two hosts of --testbed virtual-cluster, or run it in a "
            "Slurm job."
        )


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Run the tool of every point and keep its samples, or the values it reports."""
    return each(points, counter, lambda point: _keep(point, effort, campaign, testbed))


def each(points: Sequence[Point], counter: Counter, keep: Callable[[Point], None]) -> Iterator[Failure]:
    """Measure points one by one; those that fail do not stop the others."""
    for point in points:
        counter.tell(point)
        try:
            keep(point)
        except LabkitError as error:
            yield Failure(point, of_point(error))
        counter.done += 1
        counter.tell(point)


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """The runs of the tools, as a shell takes them."""
    commands = []
    for point in points:
        spec = point.spec
        invocation = tools.available(benchmarks.tools_of(spec.benchmark), spec, effort)
        if benchmarks.get(spec.benchmark).mpi:
            invocation = with_ranks(invocation, spec, testbeds.outline(spec.testbed))
            variables = [f"{name}={value}" for name, value in sorted(invocation.environment.items())]
            invocation = dataclasses.replace(invocation, client=("env", *variables, *invocation.client))
        commands.append(" & ".join(shlex.join(words) for words in (invocation.server, invocation.client) if words))
    return commands


def launcher(invocation: Invocation, spec: Spec) -> Launcher:
    """Launcher of an MPI program: that of its library, unless the spec names another launcher of this library.

    Raises
    ------
    LaunchError
        If that is not installed, or the named one belongs to another library.
    """
    if spec.launcher == "auto" and invocation.mpi:
        return _own(invocation)
    found = launch.get(spec.launcher)
    if invocation.mpi and launch.abi(found.kind) != invocation.mpi:
        raise LaunchError(
            f"{invocation.tool.name} is linked to {invocation.mpi}, but --launcher {spec.launcher} is {found.library}: "
            f"each of its ranks would be alone. Set --launcher {invocation.mpi} or auto, or put a "
            f"{Path(invocation.programs[0]).name} that is linked to {found.kind} first on the PATH.",
            lasting=True,
        )
    return found


def _own(invocation: Invocation) -> Launcher:
    """The launcher in the same installation as the library that a program loads; else the first of its kind."""
    installed = [one for one in launch.installed().values() if launch.abi(one.kind) == invocation.mpi]
    folders = [folder for parent in Path(invocation.mpi_folder).parents for folder in (parent, parent / "bin")]
    beside = next((one for one in installed if Path(one.program).parent in folders), None)
    for folder in Path(invocation.mpi_folder).parents if beside is None and invocation.mpi_folder else ():
        with suppress(LaunchError):
            return launch.get(f"{invocation.mpi}@{folder}")
    if not installed:
        raise LaunchError(
            f"{invocation.tool.name} is linked to {invocation.mpi}, whose launcher is not installed. Install "
            f"{launch.programs()[invocation.mpi].package}, or load the module of that MPI.",
            lasting=True,
        )
    return beside or installed[0]


def with_ranks(invocation: Invocation, spec: Spec, testbed: Testbed) -> Invocation:
    """The invocation with the launcher as client, which starts the program on every rank."""
    found = launcher(invocation, spec)
    placement = _placement(invocation, spec, found, testbed)
    command = testbed.wrap(found.command(placement, invocation.client))
    return dataclasses.replace(
        invocation, client=tuple(command), environment={**invocation.environment, **found.environment(placement)}
    )


def _placement(invocation: Invocation, spec: Spec, found: Launcher, testbed: Testbed) -> Placement:
    """The placement of a program's ranks, with the variables and threads of the program."""
    variables = {name: value for name, value in invocation.environment.items() if name not in dict(spec.environment)}
    placement = Placement.of(spec, found, testbed)
    settings = (*variables.items(), *placement.settings)
    return dataclasses.replace(placement, settings=settings, threads=invocation.threads)


def _keep(point: Point, effort: Effort, campaign: Campaign, testbed: Testbed) -> None:
    """Run one point and write its samples file."""
    congested = counted.of_run(testbed)
    spec, load, began, clock = point.spec, host.load_snapshot(), datetime.now(UTC), perf_counter()
    watch = host.Watch()
    benchmark = benchmarks.get(spec.benchmark)
    invocation = tools.available(benchmarks.tools_of(spec.benchmark), spec, effort)
    ranks = benchmark.mpi
    crowded = ranks and _placement(invocation, spec, launcher(invocation, spec), testbed).oversubscribed
    invocation = with_ranks(invocation, spec, testbed) if ranks else invocation
    before, batch, quotas = testbed.evidence(), allocation.current(), control_groups.quotas()
    place = Place() if ranks else testbed.place(spec)
    own = Path(testbed.directory) if testbed.directory else None
    outcome = tools.run(invocation, place=place, scratch=campaign.path if place.own_files else own)
    crossed = {name: value - before.get(name, 0) for name, value in testbed.evidence().items()}
    load_end: conditions.Load = {**host.load_snapshot(), "others": watch.since(load["monotonic_s"])}
    machine = host.describe()
    elapsed = perf_counter() - clock
    grown = counters.grown(congested, counted.of_run(testbed))
    processes = (
        spec.ranks * invocation.threads if ranks else (2 if invocation.server else 1) * len(invocation.each)
    )  # processes and threads of the tool that keep a core busy
    sampled = outcome.time_ns.size > 0
    commands = [lines.portable(words) for words in outcome.commands]
    shared: dict[str, Any] = {"testbed": dict(testbed.facts)}
    if batch:
        shared |= {"allocation": batch.facts(), "placement": batch.placement(nodes.hosts(spec) or spec.hosts)}
    if len(json.dumps(commands)) > COMMANDS:
        shared["commands"] = commands
    record = Start.of(host.lasting(), shared, spec.as_dict())
    meta = {
        **outcome.meta,
        "commands": commands,
        **record.meta,
        "engine": invocation.tool.name,
        "library": point.library,
        "verified": VERIFIED.of(outcome.meta),
        "stopped_by": "tool",
        "timing": "each" if sampled else "",
        "cadence": benchmark.cadence,
        "fingerprint": point.fingerprint,
        "start": began.isoformat(timespec="milliseconds"),
        "elapsed": elapsed,
        "seed": effort.seed,
        "load_start": load,
        "load_end": load_end,
        "evidence": crossed,
        **({"counters": grown} if grown else {}),
        **({} if spec.hosts else _throttled(quotas)),  # the groups of other hosts are not known
        **point.marks[0],
        **noted(
            [
                *testbed.badges,
                *outcome.badges,
                *(paths.of_tool(spec, effort, outcome, crossed, elapsed) if invocation.server else []),
                *([badge("oversubscription")] if crowded else []),
                *conditions.badges(machine, load, load_end),
            ],
            [
                *point.marks[1],
                *outcome.warnings,
                *conditions.warnings_for_run(machine, load, load_end, ranks=processes, guest=testbed.guest_cores),
            ],
        ),
    }
    meta |= _clock(invocation.tool, outcome)
    meta |= bounds.of_point(meta, record.meta)
    samples = Samples(
        spec=spec,
        effort=effort,
        host=machine,
        launch=point.launch,
        time_ns=outcome.time_ns,
        ranks=outcome.ranks,
        origin=outcome.origin,
        reported=outcome.reported,
        meta=complete(meta, outcome.origin),
        source=outcome.source,
        extras=outcome.extras,
        start=record,
    )
    campaign.save(samples, point.fingerprint)


def _throttled(before: Mapping[str, control_groups.Quota]) -> dict[str, float]:
    """Return the tightest quota of this process's control groups, where the tool ran, and how often it was used up."""
    after = control_groups.quotas()
    quota = control_groups.tightest(after)
    if quota is None:
        return {}
    return {PROCESSOR_QUOTA.name: quota, THROTTLED_SHARE.name: control_groups.throttled(before, after)}


def _clock(tool: tools.Tool, outcome: tools.Outcome) -> dict[str, float]:
    """Step of the clock as a tool's times show it, else as its format states it; empty if neither does."""
    if outcome.time_ns.size:
        return {CLOCK_NS.name: float(stats.clock_step(outcome.time_ns))}
    known = formats.clock_ns(tool.format.__name__.rpartition(".")[2]) if tool.format else math.nan
    return {} if math.isnan(known) else {CLOCK_NS.name: known}
