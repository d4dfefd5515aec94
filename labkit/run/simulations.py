"""Points of a simulated network: SimGrid replays the actions of the ranks, and computes when each would end.

A simulation without random choices gives the same numbers each time, so a point has one launch. With random uplinks or
hosts, the number of the launch seeds the choice.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, host, testbeds, tools
from labkit.errors import SpecError
from labkit.formats import metric
from labkit.options.congestion import Incast
from labkit.point.spec import Effort, Reported, Spec, has
from labkit.point.units import MB
from labkit.run import bounds, lines
from labkit.run import simulated_interference as two_jobs
from labkit.run.point import Failure, Point
from labkit.run.programs import each
from labkit.run.progress import Counter
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import complete, noted
from labkit.store.samples.start import Start
from labkit.testbeds import Testbed
from labkit.testbeds.simulation import Network, Program, platforms, program, workloads
from labkit.tools import smpirun

FEW, MANY = 3, 256  # iterations unless asked for; ranks above which it is one, without a warm-up
PATIENCE = 10  # times the time limit, made for steps of a few seconds


def library() -> str:
    """Return SimGrid with its version.

    Raises
    ------
    LaunchError
        If it is not installed.
    """
    smpirun.require()
    return f"SimGrid {tools.version(smpirun.TOOL.name)}"


def launched(spec: Spec, effort: Effort) -> tuple[Spec, str]:
    """Return a spec that can be simulated, without a launcher, and SimGrid with its version.

    Raises
    ------
    SpecError
        If the benchmark, an option or so many ranks cannot be simulated.
    LaunchError
        If SimGrid is not installed.
    """
    network = _network(spec, testbeds.outline(spec.testbed))
    workloads.check(spec, network.algorithm)
    if _two_jobs(spec):
        two_jobs.jobs(spec, network)
    else:
        _hosts(spec, network)
    return spec.replace(launcher="none"), library()


def _two_jobs(spec: Spec) -> bool:
    return benchmarks.get(spec.benchmark).runner == "two jobs"


def _network(spec: Spec, testbed: Testbed) -> Network:
    """Return the network of a simulated testbed."""
    if testbed.network is None:
        raise SpecError(f"testbed={spec.testbed!r} is not simulated.")
    return testbed.network


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Simulate every point and keep its times."""
    return each(points, counter, lambda point: _keep(point, effort, campaign, testbed))


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """Return the command lines, for a folder with the platform, the hosts and the trace."""
    lines = []
    settings: tuple[str, ...]
    for spec in (point.spec for point in points):
        network = _network(spec, testbeds.outline(spec.testbed))
        ranks, settings = spec.ranks, (workloads.BARRIER,)
        if _two_jobs(spec):
            ranks = len(two_jobs.jobs(spec, network).hosts)
        else:
            work = program(spec, *_counts(spec, effort), network.algorithm)
            ranks, settings = len(work.ranks), work.settings
        lines.append(shlex.join(smpirun.command(ranks, (*settings, *overheads(network)))))
    return lines


def overheads(network: Network) -> list[str]:
    """Return SimGrid's settings for the time of the processor with each message: blocking and non-blocking sends.

    The receiver's processor has no overhead: SimGrid adds one to short messages only.
    """
    segments = ";".join(f"{size}:{base:.9g}:{per_byte:.9g}" for size, base, per_byte in network.overheads)
    return [f"smpi/os:{segments}", f"smpi/ois:{segments}", "smpi/or:0:0:0"]


def _hosts(spec: Spec, network: Network, seed: int = 0) -> list[str]:
    """Return the hosts of the ranks; for an incast, of the senders and the receiver."""
    if has(spec.options, Incast):
        return network.ends_of(spec.options.senders, spec.hosts, seed)
    return network.hosts_of(spec.ranks, spec.ppn, spec.hosts, seed)


def _counts(spec: Spec, effort: Effort) -> tuple[int, int]:
    """Return how many iterations are timed, and how many are not, before them."""
    few = spec.ranks > MANY
    iterations = effort.iterations or (1 if few else FEW)
    return iterations, (0 if few else 1) if effort.warmup is None else effort.warmup


@dataclass(frozen=True)
class Outcome:
    """The results of a point's simulations, with the fields of `labkit.store.samples.Samples`.

    Parameters
    ----------
    work : what the ranks did.
    replays : the simulations, the one that counts last.
    time_ns : (ranks, iterations), ns; empty where rates are reported.
    """

    work: Program
    replays: Sequence[smpirun.Replay]
    time_ns: NDArray[np.int64]
    ranks: tuple[int, ...] = ()
    reported: tuple[Reported, ...] = ()
    extras: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)


def simulated(spec: Spec, effort: Effort, network: Network, seed: int) -> Outcome:
    """Simulate one point.

    Parameters
    ----------
    seed : seed of random choices.
    """
    limit = PATIENCE * effort.time_limit
    if _two_jobs(spec):
        iterations, warmup = effort.iterations or 0, 1 if effort.warmup is None else effort.warmup
        settings = (workloads.BARRIER, *overheads(network))
        return Outcome(*two_jobs.replayed(spec, network, iterations, warmup, settings, limit, seed))
    work = program(spec, *_counts(spec, effort), network.algorithm)
    hosts = _hosts(spec, network, seed)
    placed = [hosts[place] for place in work.places] or hosts
    settings = (*work.settings, *overheads(network))
    result = smpirun.replay(platforms.platform(network, seed), placed, work.trace, settings, limit)
    if work.flows:
        return Outcome(work, [result], np.empty((0, 0), np.int64), reported=tuple(rates(work, result.ends)))
    rows = workloads.active(spec)
    time_ns = np.array([workloads.times(work.ranks[rank].marks, result.ends[rank]) for rank in rows], np.int64)
    extras = {name: np.maximum(time_ns - less, 0) for name, less in work.extra_ns.items()}
    return Outcome(work, [result], time_ns, tuple(rows), extras=extras)


def _keep(point: Point, effort: Effort, campaign: Campaign, testbed: Testbed) -> None:
    """Simulate one point and write its samples file."""
    spec, network, began = point.spec, _network(point.spec, testbed), datetime.now(UTC)
    outcome = simulated(spec, effort, network, point.launch)
    commands = [lines.portable(one.command) for one in outcome.replays]
    record = Start.of(host.lasting(), {"testbed": dict(testbed.facts), "commands": commands}, spec.as_dict())
    meta: dict[str, Any] = {
        **record.meta,
        "engine": "simgrid",
        "library": point.library,
        "verified": False,
        "stopped_by": "count",
        "timing": "each" if outcome.ranks else "",
        "cadence": benchmarks.cadence(spec),
        "fingerprint": point.fingerprint,
        "start": began.isoformat(timespec="milliseconds"),
        "seed": point.launch,
        "simulation": {
            "algorithm": outcome.work.algorithm,
            "wall_s": round(sum(one.wall_s for one in outcome.replays), 3),
            "cpu_s": round(sum(one.cpu_s for one in outcome.replays), 3),
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
        time_ns=outcome.time_ns,
        ranks=outcome.ranks,
        origin="simulated",
        meta=complete(meta, "simulated"),
        extras=outcome.extras,
        reported=outcome.reported,
        start=record,
    )
    campaign.save(samples, point.fingerprint)


def rates(work: Program, ends: Sequence[Sequence[float]]) -> Iterator[Reported]:
    """Yield the bandwidth at the receiver of an incast and of each stream, MB/s; nothing for other programs.

    Parameters
    ----------
    ends : of each rank when each of its actions ended, s.
    """
    if not work.flows:
        return
    seconds = {rank.number: workloads.times(rank.marks, ends[rank.number])[0] * 1e-9 for rank in work.ranks}
    total = sum(work.flows.values()) / seconds[work.ranks[-1].number] / MB
    yield metric("bandwidth_MBps", "mean", total)
    for rank, sent in work.flows.items():
        stream = metric("bandwidth_MBps", "mean", sent / seconds[rank] / MB, {"sender": work.places[rank]})
        yield dataclasses.replace(stream, rank=rank)
