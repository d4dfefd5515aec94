"""Points of a simulated network: SimGrid replays what the ranks would do, and tells when each action would end.

A simulation without random choices gives the same numbers each time, so a point has one launch. With random uplinks or
hosts, the number of the launch seeds the choice.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from labkit import benchmarks, host, testbeds, tools
from labkit.campaign import Campaign
from labkit.errors import SpecError
from labkit.measuring import bounds
from labkit.measuring.point import Failure, Point
from labkit.measuring.programs import each
from labkit.measuring.progress import Counter
from labkit.samples import Samples
from labkit.samples.facts import complete, noted
from labkit.samples.start import Start
from labkit.simulation import Network, Program, platforms, program, workloads
from labkit.spec import Effort, Spec
from labkit.testbeds import Testbed
from labkit.tools import smpirun

FEW, MANY = 3, 256  # iterations unless asked for; ranks above which it is one, without a warm-up
PATIENCE = 10  # times the time limit, which is meant for steps of a few seconds


def library() -> str:
    """Return SimGrid with its version.

    Raises
    ------
    LaunchError
        If it is not installed.
    """
    smpirun.require()
    return f"SimGrid {tools.version(smpirun.TOOL.name)}"


def placed(spec: Spec, network: Network) -> Spec:
    """Return a spec that can be simulated, without a launcher.

    Raises
    ------
    SpecError
        If the benchmark, an option or so many ranks cannot be simulated.
    """
    workloads.check(spec, network.algorithm)
    network.hosts_of(spec.ranks, spec.ppn, spec.hosts)
    return spec.replace(launcher="none")


def repeated(spec: Spec, launches: Sequence[int]) -> Sequence[int]:
    """Return which of some launches a spec has: the first alone where a simulation has no random choice."""
    network = testbeds.outline(spec.testbed).network
    if network is None or network.routing == "hash" or (network.placement == "random" and not spec.hosts):
        return launches
    return [number for number in launches if number == 0]


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Simulate every point and keep its times."""
    return each(points, counter, lambda point: _keep(point, effort, campaign, testbed))


def shell(points: Sequence[Point], effort: Effort, network: Network) -> list[str]:
    """Return the command lines, for a folder with the platform, the hosts and the trace."""
    work = [_work(point.spec, effort, network) for point in points]
    lines = zip(points, work, strict=True)
    return [shlex.join(smpirun.command(p.spec.ranks, (*one.settings, *overheads(network)))) for p, one in lines]


def overheads(network: Network) -> list[str]:
    """Return SimGrid's settings for the time of the processor with each message: blocking and non-blocking sends.

    The receiver's processor has no overhead: SimGrid adds one to short messages only.
    """
    segments = ";".join(f"{size}:{base:.9g}:{per_byte:.9g}" for size, base, per_byte in network.overheads)
    return [f"smpi/os:{segments}", f"smpi/ois:{segments}", "smpi/or:0:0:0"]


def _work(spec: Spec, effort: Effort, network: Network) -> Program:
    """Return what the ranks do."""
    few = spec.ranks > MANY
    iterations = effort.iterations or (1 if few else FEW)
    warmup = (0 if few else 1) if effort.warmup is None else effort.warmup
    return program(spec, iterations, warmup, network.algorithm)


def _keep(point: Point, effort: Effort, campaign: Campaign, testbed: Testbed) -> None:
    """Simulate one point and write its samples file."""
    spec, network, began = point.spec, testbed.network, datetime.now(UTC)
    if network is None:
        raise SpecError(f"testbed={spec.testbed!r} is not simulated.")
    work = _work(spec, effort, network)
    result = smpirun.replay(
        platforms.platform(network, point.launch),
        network.hosts_of(spec.ranks, spec.ppn, spec.hosts, point.launch),
        work.trace,
        (*work.settings, *overheads(network)),
        PATIENCE * effort.time_limit,
    )
    rows = workloads.active(spec)
    time_ns = np.array([iterations(work.ranks[rank].marks, result.ends[rank]) for rank in rows], np.int64)
    extras = {name: np.maximum(time_ns - less, 0) for name, less in work.extra_ns.items()}
    commands = [list(result.command)]
    record = Start.of(host.lasting(), {"testbed": dict(testbed.facts), "commands": commands}, spec.as_dict())
    options = spec.values
    meta: dict[str, Any] = {
        **record.meta,
        "engine": "simgrid",
        "library": point.library,
        "verified": False,
        "stopped_by": "count",
        "timing": "each",
        "cadence": options.get("cadence", benchmarks.get(spec.benchmark).cadence),
        "fingerprint": point.fingerprint,
        "start": began.isoformat(timespec="milliseconds"),
        "seed": point.launch,
        "simulation": {
            "algorithm": work.algorithm,
            "wall_s": round(result.wall_s, 3),
            "cpu_s": round(result.cpu_s, 3),
            "messages": workloads.messages(spec, network.algorithm),
        },
        **point.marks[0],
        **noted(testbed.badges, point.marks[1]),
    }
    meta |= bounds.of_point(meta, record.meta)
    samples = Samples(
        spec=spec,
        effort=effort,
        host=host.describe(),
        launch=point.launch,
        time_ns=time_ns,
        ranks=tuple(rows),
        origin="simulated",
        meta=complete(meta, "simulated"),
        extras=extras,
        start=record,
    )
    campaign.save(samples, point.fingerprint)


def iterations(marks: Sequence[tuple[int, int]], ends: Sequence[float]) -> list[int]:
    """Return the time of each timed iteration of a rank, ns.

    Parameters
    ----------
    marks : of each iteration the number of actions before it and up to its end.
    ends : when each action ended, s.
    """
    moments = [0.0, *ends]
    return [round((moments[last] - moments[first]) * 1e9) for first, last in marks]
