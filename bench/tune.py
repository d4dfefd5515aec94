"""Count how often the race of `labkit tune` finds the best setting, and what it costs beside measuring them all.

With `--simulated`, simulated launches give the chance of stopping the best setting, beside the declared one. Without it,
three parts on the virtual cluster, where algorithms of a broadcast differ by factors. First, every setting is measured
in every round (the exhaustive search), and the race runs on these launches, once for each of many random orders of the
rounds. This is a race on stored launches: what it would have seen, not new measurements. The second part simulates
launches with the medians of the first and less noise, because the noise of the first is that of the machine at the
time. The last part is real races, each with launches of its own, beside the best setting of the exhaustive search.

    python bench/tune.py [FOLDER] [--launches N] [--hosts N] [--races N] [--minutes M] [--simulated]

FOLDER keeps the launches, and a second call continues. No race begins after `--minutes`.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labkit.io.markdown import table
from labkit.point.spec import Effort, Spec, sweep
from labkit.read import records
from labkit.run import measuring
from labkit.stats.racing import ERROR, standing
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import FINGERPRINT
from labkit.tuning import Plan, settings

RACES, ROUNDS, RELEVANT = 300, 10, 0.02
FIRST = 1000  # number of the first launch of the first real race, and the distance between races
SIZES = (65536, 262144)  # B; shorter messages pass the emulated links at once


class Race:
    """A race of settings at one point: the rounds so far, and how it stands."""

    def __init__(self, settings: int, looks: int) -> None:
        self.rows, self.looks, self.launches = list[NDArray[np.float64]](), looks, 0
        self.racing, self.settled = list(range(settings)), False

    def take(self, row: NDArray[np.float64]) -> None:
        """Take a round; only settings that still race count."""
        seen = np.full_like(row, np.nan)
        seen[self.racing] = row[self.racing]
        self.rows.append(seen)
        self.launches += len(self.racing)
        self.now = standing(np.array(self.rows), looks=self.looks, relevant=RELEVANT)
        self.racing, self.settled = list(self.now.racing), self.now.settled


def raced(costs: NDArray[np.float64], looks: int) -> Race:
    """Race on a table of launches (rounds, settings)."""
    race = Race(costs.shape[1], looks)
    for row in costs:
        race.take(row)
        if race.settled:
            break
    return race


def simulated() -> None:
    """Print how often the best setting stops, for several true differences and kinds of noise."""
    example = np.array([0, 7.4, 13, 16, 46, 40, 44, 45, 110, 140]) / 100  # the race of docs/tuning.md
    shapes = {
        "all others 3 % slower": np.concatenate([[0.0], np.full(11, 0.03)]),
        "5 % to a factor of 4.5 slower": np.concatenate([[0.0], np.linspace(0.05, 1.5, 11)]),
        "as in the example, 7 % to a factor of 2.4 slower": np.log1p(example),
    }
    kinds = ("normal", "Student's t, 3 degrees of freedom", "every third setting 4 times as noisy, the best too")
    rows = []
    for name, gaps in shapes.items():
        rows += [[name, noise, *_simulated(gaps, noise, 0.05)] for noise in kinds]
    for noise in (0.02, 0.03, 0.1):
        rows.append([name, f"normal, {100 * noise:g} %", *_simulated(gaps, "normal", noise)])
    print(
        f"\n{ROUNDS} rounds, 5 % noise if nothing else is said, {RACES} races each, declared chance {100 * ERROR:g} %\n"
    )
    head = ["true differences", "noise", "best stopped", "settled for one more than 2 % slower"]
    print(table([*head, "best leads at the end", "launches of all"], rows))


def _simulated(gaps: NDArray[np.float64], noise: str, scale: float) -> list[str]:
    """Race on simulated launches: shares of races that stop the best, end wrongly or well, and of launches."""
    count = gaps.size
    scales = np.where((np.arange(count) % 3 == 0) & ("third" in noise), 4 * scale, scale)
    lost = wrong = best = cost = 0
    for seed in range(RACES):
        chance, shape = np.random.default_rng(seed), (ROUNDS, count)
        values = chance.standard_t(3, shape) if "Student" in noise else chance.normal(size=shape)
        race = raced(gaps + chance.normal(scale=0.1, size=(ROUNDS, 1)) + scales * values, ROUNDS - 1)
        lost, best, cost = lost + (0 in race.now.stopped), best + (race.now.leader == 0), cost + race.launches
        wrong += race.settled and gaps[race.now.leader] > math.log1p(RELEVANT)
    counts = (lost, wrong, best, cost / ROUNDS / count)
    return [f"{100 * one / RACES:.1f} %" for one in counts]


class Broadcasts:
    """Broadcasts on the virtual cluster in all settings; launches stay in a campaign."""

    def __init__(self, folder: str, hosts: int) -> None:
        self.bases = sweep(
            "mpi.bcast", sizes=SIZES, ranks=hosts, transport="tcp", testbed=f"virtual-cluster:{hosts},rate=50mbit"
        )
        self.plan = Plan(
            bases=tuple(self.bases),
            settings=tuple(settings("mpi.bcast", {"algorithm": ["all"], "segment": ["8192"]})),
            effort=Effort(time_cap=0.3, warmup=1, ci=0.05),
        )
        self.campaign = Campaign(folder)
        self.specs = {
            (n, k): one.of(base) for n, base in enumerate(self.bases) for k, one in enumerate(self.plan.settings)
        }
        points = {pair: measuring.expand([spec], self.plan.effort, [0])[0] for pair, spec in self.specs.items()}
        self.names = {pair: point.fingerprint for pair, point in points.items()}

    def launch(self, number: int, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Measure a launch of some settings at some points: logarithms of medians, (points, settings)."""
        measuring.measure([self.specs[pair] for pair in pairs], self.plan.effort, into=self.campaign, launches=[number])
        costs = np.full((len(self.bases), len(self.plan.settings)), math.nan)
        pair_of = {self.names[pair]: pair for pair in pairs}
        for one in self.campaign.samples("mpi.bcast", {(name, number) for name in pair_of}):
            value = float(np.median(records.values(one, self.plan.metric)))
            costs[pair_of[str(FINGERPRINT.of(one.meta))]] = math.log(value)
        return costs


def really(broadcasts: Broadcasts, truth: NDArray[np.float64], races: int, rounds: int, until: float) -> None:
    """Race anew, `races` times at most, beside the mean logarithms of the exhaustive search (points, settings)."""
    count = len(broadcasts.plan.settings)
    outcomes = list[list[Race]]()
    for number in range(races):
        if time.monotonic() > until:
            print(f"the time is over after {number} of {races} races; the same call continues", flush=True)
            break
        of_points = [Race(count, rounds - 1) for _ in broadcasts.bases]
        for turn in range(rounds):
            pairs = [(n, k) for n, race in enumerate(of_points) if not race.settled for k in race.racing]
            if not pairs:
                break
            row = broadcasts.launch(FIRST * (number + 1) + turn, pairs)
            for n, race in enumerate(of_points):
                if not race.settled:
                    race.take(row[n])
        outcomes.append(of_points)
        print(f"race {number + 1} of {races}", flush=True)
    if not outcomes:
        return
    rows = []
    for n, base in enumerate(broadcasts.bases):
        best, ended = int(truth[n].argmin()), [of_points[n] for of_points in outcomes]
        near = {k for k in range(count) if truth[n, k] - truth[n, best] <= math.log1p(RELEVANT)}
        rows.append(
            [
                str(base.size),
                f"{sum(race.now.leader == best for race in ended)} of {len(ended)}",
                f"{sum(race.now.leader in near for race in ended)} of {len(ended)}",
                f"{100 * np.median([race.now.spread for race in ended]):.0f} %",
                f"{100 * np.mean([race.launches for race in ended]) / (count * rounds):.0f} %",
                f"{100 * max(race.launches for race in ended) / (count * rounds):.0f} %",
            ]
        )
    print(f"\n{len(outcomes)} races of at most {rounds} rounds, each with launches of its own\n")
    head = ["size (B)", "race finds the best", "or within 2 %", "noise of a launch", "launches of all", "most"]
    print(table(head, rows))


def measured(folder: str, launches: int, hosts: int, races: int, until: float) -> None:
    """Measure broadcasts on the virtual cluster in all settings, and race on these launches."""
    broadcasts = Broadcasts(folder, hosts)
    bases, plan = broadcasts.bases, broadcasts.plan
    rounds = []
    for number in range(launches):
        rounds.append(broadcasts.launch(number, list(broadcasts.specs)))
        print(f"launch {number + 1} of {launches}", flush=True)
    costs = np.stack(rounds, axis=1)
    rows = []
    for base, values in zip(bases, costs, strict=True):
        means = np.nanmean(values, axis=0)
        best = int(np.argmin(means))
        rest = np.delete(means, best)
        near = {k for k in range(len(means)) if means[k] - means[best] <= math.log1p(RELEVANT)}
        outcomes = []
        for seed in range(100):
            order = np.random.default_rng(seed).permutation(launches)
            outcomes.append(raced(values[order], launches - 1))
        rows.append(
            [
                str(base.size),
                plan.settings[best].name,
                f"{100 * math.expm1(rest.min() - means[best]):.1f} %",
                f"{math.exp(rest.max() - means[best]):.1f}",
                f"{sum(race.now.leader == best for race in outcomes)} of 100",
                f"{sum(race.now.leader in near for race in outcomes)} of 100",
                f"{100 * np.median(values.std(axis=0, ddof=1)):.0f} %",
                f"{100 * np.mean([race.launches for race in outcomes]) / values.size:.0f} %",
            ]
        )
    print(
        f"\nMPI_Bcast, {hosts} virtual hosts at 50 Mbit/s, {len(plan.settings)} settings, {launches} launches of each\n"
    )
    head = ["size (B)", "best by all launches", "next slower by", "slowest, times", "race finds it", "or within 2 %"]
    print(table([*head, "scatter of a launch", "launches of all"], rows))
    quieter(bases, np.median(costs, axis=1), launches)
    if races:
        really(broadcasts, np.nanmean(costs, axis=1), races, launches, until)


def quieter(bases: Sequence[Spec], medians: NDArray[np.float64], launches: int) -> None:
    """Print how races of simulated launches with these medians end, (points, settings), log."""
    rows = []
    for base, truth in zip(bases, medians, strict=True):
        for noise in (0.02, 0.05, 0.1):
            for count in dict.fromkeys((launches, 12)):
                outcomes = []
                for seed in range(100):
                    chance = np.random.default_rng(seed)
                    costs = truth + chance.normal(scale=noise, size=(count, truth.size))
                    outcomes.append(raced(costs + chance.normal(scale=0.05, size=(count, 1)), count - 1))
                hits = sum(race.now.leader == truth.argmin() for race in outcomes)
                share = 100 * np.mean([race.launches for race in outcomes]) / costs.size
                rows.append([str(base.size), f"{100 * noise:g} %", str(count), f"{hits} of 100", f"{share:.0f} %"])
    print("\nThe same medians with simulated noise\n")
    print(table(["size (B)", "noise", "launches of each setting", "race finds the best", "launches of all"], rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="campaign that keeps the launches (default: a temporary one)")
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--races", type=int, default=10, help="real races (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=25, help="no race begins later (default: %(default)g)")
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    if options.simulated:
        simulated()
    else:
        until = time.monotonic() + 60 * options.minutes
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or f"{temporary}/campaign"
            measured(folder, options.launches, options.hosts, options.races, until)
