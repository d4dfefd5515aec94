"""Points of two simulated jobs: the victim alone, and beside a halo exchange or an incast that lasts longer than it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import LaunchError, SpecError
from labkit.options.congestion import Interference
from labkit.point.spec import Reported, Spec
from labkit.point.units import KiB
from labkit.run import interference
from labkit.testbeds import Testbed
from labkit.testbeds.simulation import Network, Program, collectives, platforms, workloads
from labkit.testbeds.simulation.workloads import Rank
from labkit.tools import smpirun
from labkit.tools.smpirun import EAGER

Extras = dict[str, NDArray[np.int64]]
AGGRESSORS = ("halo3d26", "incast")  # nothing represents the losses of a flood of datagrams
_CALL = 128 * KiB  # of an incast, unless given
_LONGER, _TRIES = 2.0, 4  # the aggressor lasts so many times as long as the victim alone, and twice that in each try
_PERIODS, _MOST = 4, 200
_TRIAL = 3  # iterations that tell how long one takes


@dataclass(frozen=True)
class Jobs:
    """Two jobs on their own hosts.

    Parameters
    ----------
    victim, aggressor : resolved.
    hosts : hosts of the victim's ranks, then of the aggressor's.
    """

    victim: Spec
    aggressor: Spec
    hosts: tuple[str, ...]


def jobs(spec: Spec, network: Network, seed: int = 0) -> Jobs:
    """Return what runs where: hosts go to the two jobs alternately; in ``placement=both`` as in the paper.

    Raises
    ------
    SpecError
        If the jobs cannot be simulated, or the hosts do not hold them.
    """
    if (value := spec.of(Interference).options.aggressor) not in AGGRESSORS:
        raise SpecError(
            f"aggressor={value}, but simulated jobs have {' or '.join(AGGRESSORS)}. Set aggressor={AGGRESSORS[0]}."
        )
    order = list(spec.hosts) or network.order(seed)
    mine, others = order[0::2], order[1::2]
    bed = Testbed("simulated", hosts=tuple(order))
    victim, _ = interference.split(spec.replace(hosts=()), bed)
    asked = interference.pair_of(spec).aggressor(spec, others)
    aggressor = benchmarks.resolve(asked) if asked else _incast(spec, others)
    workloads.check(victim, network.algorithm)
    if workloads.simulation_of(victim).collective:
        collectives.steps(victim, 0, network.algorithm)
    workloads.check(aggressor)
    placed = network.hosts_of(victim.ranks, spec.ppn, mine)
    if asked:
        placed += network.hosts_of(aggressor.ranks, spec.ppn, others)
    else:
        placed += [others[place] for place in workloads.simulation_of(aggressor).places(aggressor)]
    return Jobs(victim, aggressor, tuple(placed))


def _incast(spec: Spec, others: Sequence[str]) -> Spec:
    """Return the incast from all hosts of the aggressor into its last one.

    Raises
    ------
    SpecError
        If its messages are so short that their senders would not wait for them.
    """
    asked = spec.of(Interference).options
    size = asked.aggressor_size or _CALL
    if size < EAGER:
        raise SpecError(
            f"aggressor_size={size}, but a simulated incast sends {EAGER} B or more: the senders of shorter messages "
            f"wait for nothing. Set aggressor_size={_CALL}, or 0."
        )
    options = {"senders": len(others) - 1, "streams": asked.streams}
    return benchmarks.resolve(Spec(benchmark="congestion.incast", size=size, testbed=spec.testbed, options=options))


def replayed(
    spec: Spec, network: Network, iterations: int, warmup: int, settings: Sequence[str], limit: float, seed: int
) -> tuple[Program, list[smpirun.Replay], NDArray[np.int64], tuple[int, ...], tuple[Reported, ...], Extras]:
    """Simulate the victim alone and beside the aggressor.

    Parameters
    ----------
    iterations : iterations of the victim; 0 for as many as take `_PERIODS` iterations of the aggressor, at most
        `_MOST`.

    Returns
    -------
    What the ranks of the last simulation did, the simulations, the times of the victim's iterations beside the
    aggressor, (ranks, iterations), ns, its ranks, no rates, and as ``alone_ns`` its times alone.

    Raises
    ------
    LaunchError
        If SimGrid fails, or no number of iterations makes the aggressor last.
    """
    both, platform = jobs(spec, network, seed), platforms.platform(network, seed)
    first = both.victim.ranks

    def run(ranks: Sequence[Rank], hosts: Sequence[str]) -> smpirun.Replay:
        return smpirun.replay(platform, hosts, Program(ranks).trace, settings, limit)

    def alone(spec: Spec, hosts: Sequence[str], count: int) -> tuple[list[Rank], smpirun.Replay, float]:
        chosen = network.algorithm if spec == both.victim else "auto"
        ranks = workloads.written(spec, count, warmup, chosen, alone=False)
        result = run(ranks, hosts)
        return ranks, result, max(ends[-1] for ends in result.ends) / (count + warmup)

    *_, trial, period = alone(both.aggressor, both.hosts[first:], _TRIAL)
    victim, apart, each = alone(both.victim, both.hosts[:first], iterations or _TRIAL)
    if not iterations:
        iterations = max(_TRIAL, min(_MOST, math.ceil(_PERIODS * period / each)))
        victim, apart, each = alone(both.victim, both.hosts[:first], iterations)
    count, done = math.ceil(_LONGER * each * (iterations + warmup) / period) + 1, [trial, apart]
    rows = workloads.active(both.victim)
    for _ in range(_TRIES):
        most = workloads.messages(both.aggressor) * count
        if most > workloads.MOST:
            raise SpecError(
                f"The aggressor would send about {most:,} messages, but a simulation has at most {workloads.MOST:,}. "
                "Set fewer iterations, or fewer cells."
            )
        program = Program([*victim, *workloads.written(both.aggressor, count, 0, first=first, alone=False)])
        done.append(run(program.ranks, both.hosts))
        ends = done[-1].ends
        if min(one[-1] for one in ends[first:]) >= max(one[-1] for one in ends[:first]):
            times = [
                [workloads.times(victim[rank].marks, one.ends[rank]) for rank in rows] for one in (done[-1], apart)
            ]
            beside, undisturbed = (np.array(one, np.int64) for one in times)
            return program, done, beside, tuple(rows), (), {"alone_ns": undisturbed}
        count *= 2
    raise LaunchError(
        f"The simulated aggressor ended before the victim, also with {count // 2} iterations. Set fewer iterations."
    )
