"""The tuner: race settings by fresh starts, confirm each winner against the default, prove the files that are written.

Everything measured is a point of a campaign, so an interrupted tune resumes, and the same campaign always gives the
same race. The launches have numbers: those of the race count from 0. Each winner is confirmed in separate launches
(`CONFIRM` and up), alternating with the default. So a claim never rests on the launches that chose the winner, which
would favour it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np

from labkit import benchmarks
from labkit.errors import KernelError, LaunchError
from labkit.formats import clock_ns
from labkit.judge.comparison.judging import FASTER, Judgement, Launches, Pair, judge
from labkit.judge.comparison.resolved import between
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.spec import Spec
from labkit.point.units import plural
from labkit.read import records
from labkit.read.records.resolution import STEPS, TICKS
from labkit.run import measuring, older
from labkit.run.measuring import Point, Report
from labkit.stats.racing import Standing, masked, standing
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, START
from labkit.tuning import files, osu
from labkit.tuning.everywhere import Variables, winners
from labkit.tuning.outcome import Outcome, Tuned, Written
from labkit.tuning.plan import Plan, note, number_of, remember
from labkit.tuning.settings import Setting

FOLDER = "tune"  # in a campaign, for the files that libraries read
CONFIRM = 1000  # first launch number of the first confirmation, and the distance between confirmations
FILE = "file"  # begins the name of a confirmation of written files
_BOUND = f"no setting wins the race: the times span fewer than {TICKS} steps of the clock"
PROGRAM = "program"  # begins the name of a proof by a program that is not labkit's


def tune(
    plan: Plan,
    into: Campaign,
    *,
    output: Path | None = None,
    proof: bool = True,
    progress: Report | None = None,
    say: Callable[[str], None] = lambda text: None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Race, confirm, write and prove.

    Parameters
    ----------
    into : campaign; points that it has are not measured again.
    output : folder for the files that the library reads (default: ``tune`` in the campaign).
    proof : whether to measure plain ranks with and without the files.
    say : gets a sentence after each round.
    clock : s.

    Raises
    ------
    SpecError
        If a spec is impossible; nothing was started.
    DataError
        If the files cannot be written, or would replace those for another benchmark or library.
    LaunchError, KernelError
        If the default cannot be measured.
    """
    folder = output or into.path / FOLDER
    files.check(folder, plan.bases[0], within=None if output else into.path)
    with into.lease():
        return Tuner(plan, into, progress, say, clock).run(folder, proof)


@dataclass
class Tuner:
    """The state of one call of `tune`."""

    plan: Plan
    campaign: Campaign
    progress: Report | None
    say: Callable[[str], None]
    clock: Callable[[], float]
    ended: str = ""
    points: dict[tuple[int, int], Point] = field(default_factory=dict)  # (base, setting) → launch 0
    values: dict[tuple[int, int, int], float] = field(default_factory=dict)  # (base, setting, launch) → median
    starts: dict[tuple[int, int, int], str] = field(default_factory=dict)  # the same → ISO 8601
    ticks: dict[tuple[int, int, int], float] = field(default_factory=dict)  # the same → clock steps in the median
    parts: list[list[Variables]] = field(
        default_factory=list
    )  # (bases, settings) → variables and fields without a rule by size

    def run(self, output: Path, proof: bool) -> Outcome:
        """Race, confirm, write and prove."""
        self.begun, self.spent = self.clock(), 0
        self._name()
        for text in self._older():
            self.say(f"warning: {text}")
        return self._decided(output, proof)

    def _decided(self, output: Path, proof: bool) -> Outcome:
        """Race, confirm, write and prove."""
        standings = self._race()
        chosen, compromise = winners(standings, self.parts)
        tuned = [
            Tuned(self.points[n, 0].spec, one, k, reason="" if k else self._leads(n))
            for n, (one, k) in enumerate(zip(standings, chosen, strict=True))
        ]
        tuned = self._confirmed(tuned)
        written = self._written(output, tuned)
        command = self._command(written)
        if proof and written.reads:
            tuned = self._proved(tuned, written)
        program = unproved = ""
        if any(one.claimed for one in tuned):
            tuned, program, unproved = self._outside(tuned, written) if proof else (tuned, "", "--no-proof was given")
        ran = sum(one in self.values for one in self._raced(standings))
        every = len(self.plan.bases) * len(self.plan.settings) * self.plan.rounds
        return Outcome(self.plan, tuple(tuned), written, compromise, command, self.ended, ran, every, program, unproved)

    def _leads(self, n: int) -> str:
        """Say why the race of a base has no winner."""
        return _BOUND if self._coarse(n) else "the default leads the race"

    def _coarse(self, n: int) -> bool:
        """Return whether the launches of a base's default span fewer steps of the clock than a value needs."""
        return any(of < TICKS for (base, k, _), of in self.ticks.items() if (base, k) == (n, 0))

    def _older(self) -> Iterator[str]:
        """Name the points that the campaign has with another effort, because the race counts them."""
        names = {point.fingerprint for point in self.points.values()}
        had = {point[1:] for point in self.campaign.done(self.plan.benchmark) if point[1] in names}
        advice = "The race counts them. Choose a new campaign (--into) for this effort"
        return (
            older.texts(self.campaign.samples(self.plan.benchmark, had), self.plan.effort, advice) if had else iter(())
        )

    def _name(self) -> None:
        """Resolve and name the specs of all settings; a setting that cannot be is an error before anything starts."""
        for n, base in enumerate(self.plan.bases):
            for k, setting in enumerate(self.plan.settings):
                self._add(n, k, setting.of(base))
        named = {pair: point.fingerprint for pair, point in self.points.items()}
        bases = tuple(self.points[n, 0].spec for n in self._bases())
        self.parts = files.parts(self.plan, bases)
        note(self.campaign, self.plan, bases, named, self.parts)

    def _add(self, n: int, k: int, spec: Spec) -> None:
        """Add the spec of a setting at a point, resolved and named."""
        self.points[n, k] = measuring.expand([spec], self.plan.effort, [0])[0]

    def _written(self, output: Path, tuned: Sequence[Tuned]) -> Written:
        """Write the files for what is claimed."""
        within = self.campaign.path if output == self.campaign.path / FOLDER else None
        return files.write(output, self.plan, tuned, within=within)

    def _raced(self, standings: Sequence[Standing]) -> Iterator[tuple[int, int, int]]:
        """Yield every launch that a race counted."""
        for n, one in enumerate(standings):
            for k in range(len(self.plan.settings)):
                last = one.stopped.get(k, one.failed.get(k, one.rounds))
                yield from ((n, k, launch) for launch in range(last))

    # ---- the race ------------------------------------------------------------------------------------------------

    def _race(self) -> list[Standing]:
        """Race until each point is settled, the rounds are over, or the rest of the budget is for confirming."""
        standings: list[Standing] = []
        for launch in range(self.plan.rounds):
            racing = self._alive(standings)
            if not racing:
                break
            count = sum(map(len, racing.values()))
            if launch > 1 and not self._affords(count + self._reserve(standings)):
                self.ended = f"the budget ended the race after {plural(launch, 'round')}"
                break
            self._measure([(n, k) for n, ones in racing.items() for k in ones], launch)
            if not self._whole(racing, launch):
                break
            standings = [self._stands(n, min(launch + 1, self._rounds(n, standings, racing))) for n in self._bases()]
            self.say(f"round {launch + 1}: {self._news(standings)}")
        return standings

    def _whole(self, racing: dict[int, tuple[int, ...]], launch: int) -> bool:
        """Return whether all launches of a round exist or have failed."""
        return True

    def _bases(self) -> range:
        return range(len(self.plan.bases))

    def _alive(self, standings: Sequence[Standing]) -> dict[int, tuple[int, ...]]:
        """Return the settings to measure in the next round, by base."""
        if not standings:
            return {n: tuple(range(len(self.plan.settings))) for n in self._bases()}
        return {n: one.racing for n, one in enumerate(standings) if not one.settled}

    def _rounds(self, n: int, standings: Sequence[Standing], racing: dict[int, tuple[int, ...]]) -> int:
        """Return how many rounds count for a base: no more once its race is settled."""
        return self.plan.rounds if n in racing else standings[n].rounds

    def _stands(self, n: int, rounds: int) -> Standing:
        """Return the standing of the race of a base."""
        table = np.array([[self._cost((n, k, r)) for k in range(len(self.plan.settings))] for r in range(rounds)])
        if np.isnan(table).all(axis=1).any():
            raise LaunchError(f"No setting of {benchmarks.label(self.plan.bases[n])} could be measured. See the log.")
        looks, error, relevant = self.plan.rounds - 1, self.plan.error, self.plan.relevant
        grain = [self._grain(n, k, rounds) for k in range(len(self.plan.settings))]
        ran = masked(table, looks=looks, error=error, relevant=relevant, grain=grain)
        return standing(ran, looks=looks, error=error, relevant=relevant, grain=grain)

    def _grain(self, n: int, k: int, rounds: int) -> float:
        """Return the smallest difference from a setting that the clock resolves, as a logarithm."""
        known = [self.ticks[n, k, r] for r in range(rounds) if self.ticks.get((n, k, r), math.nan) > 0]
        return math.log1p(STEPS / max(median(known), TICKS)) if known else 0.0

    def _cost(self, key: tuple[int, int, int]) -> float:
        """Return the logarithm of a launch's median, lower is better; NaN without one.

        A median of few steps of the clock shows only that the time is no longer than `TICKS` of them, and counts so.
        """
        value = self.values.get(key, math.nan)
        if not value > 0:
            return math.nan
        cost = math.log(value) if METRICS[self.plan.metric].better == "lower" else -math.log(value)
        if (of := self.ticks.get(key, math.nan)) < TICKS:
            cost += math.log(TICKS / of)
        return round(cost, 9)  # bounds are equal, and rounding errors must not rank them

    def _news(self, standings: Sequence[Standing]) -> str:
        """Return how many settings still race, by base."""
        total = len(self.plan.settings)
        return joined(
            f"{benchmarks.label(base)}: {'settled' if one.settled else f'{len(one.racing)} of {total} settings race'}, "
            f"{self.plan.settings[one.leader].name} leads"
            for base, one in zip(self.plan.bases, standings, strict=True)
        )

    # ---- the budget ----------------------------------------------------------------------------------------------

    def _affords(self, count: int) -> bool:
        """Return whether the budget is enough for this many more launches of a point, at the rate so far."""
        elapsed = self.clock() - self.begun
        each = elapsed / self.spent if self.spent else 0.0
        return elapsed + count * each <= self.plan.budget

    def _reserve(self, standings: Sequence[Standing]) -> int:
        """Return how many launches of a point confirming would take."""
        return 2 * self.plan.confirm * sum(one.leader != 0 for one in standings)

    # ---- measuring -----------------------------------------------------------------------------------------------

    def _measure(self, pairs: Sequence[tuple[int, int]], launch: int) -> None:
        """Measure one launch of some settings at some points, and read the medians. Failed settings have no value."""
        specs = [self.points[pair].spec for pair in pairs]
        missing = {(p.spec.benchmark, p.fingerprint, launch) for p in (self.points[pair] for pair in pairs)}
        self.spent += len(missing - self.campaign.done(specs[0].benchmark))
        try:
            measuring.measure(specs, self.plan.effort, into=self.campaign, progress=self.progress, launches=[launch])
        except (LaunchError, KernelError) as error:
            if not error.failures:
                raise
            self._read(pairs, launch)
            if any((n, 0, launch) not in self.values for n, k in pairs if k == 0):
                raise
            self.say(f"{plural(len(error.failures), 'launch')} failed: {error.failures[0].error.brief}")
            return
        self._read(pairs, launch)

    def _read(self, pairs: Sequence[tuple[int, int]], launch: int) -> None:
        """Read the medians of a launch."""
        keys: dict[str, list[tuple[int, int]]] = {}
        for pair in pairs:
            keys.setdefault(self.points[pair].fingerprint, []).append(pair)
        wanted = {(fingerprint, launch) for fingerprint in keys}
        for one in self.campaign.samples(self.plan.benchmark, wanted):
            for n, k in keys[str(FINGERPRINT.of(one.meta))]:
                self._keep((n, k, launch), one)

    def _keep(self, key: tuple[int, int, int], samples: Samples) -> None:
        """Record the value of a launch that the race compares."""
        self.values[key] = float(np.median(records.values(samples, self.plan.metric)))
        self.starts[key], self.ticks[key] = str(START.of(samples.meta)), records.ticks(samples)

    # ---- confirming and proving ----------------------------------------------------------------------------------

    def _confirmed(self, tuned: Sequence[Tuned]) -> list[Tuned]:
        """Measure each winner and the default alternately, and judge."""
        sides = {n: one.winner for n, one in enumerate(tuned) if one.winner}
        judged = self._against_default(sides, {k: self.plan.settings[k].name for k in set(sides.values())})
        return [self._with(one, judged.get(n)) if one.winner else one for n, one in enumerate(tuned)]

    def _with(self, one: Tuned, judgement: Judgement | None) -> Tuned:
        """Return a point with its confirmation, and why nothing is claimed if that is so."""
        if judgement is None:
            return replace(one, reason="the budget ended before the winner was confirmed")
        if judgement.verdict == FASTER:
            return replace(one, confirmed=judgement, reason="")
        return replace(one, confirmed=judgement, reason=judgement.reason or f"the winner is {judgement.verdict}")

    def _proved(self, tuned: Sequence[Tuned], written: Written) -> list[Tuned]:
        """Measure each claimed point with and without the written files, in interleaved launches.

        The library chooses the path, as for users' programs.
        """
        name, k = f"{FILE}:{written.digest}", len(self.plan.settings)
        claims = [n for n, one in enumerate(tuned) if one.claimed]
        plain = 0
        for n in claims:
            base = files.of_programs(self.plan.bases[n])
            self._add(n, k, Setting(name, environment=written.reads).of(base))
            if base != self.plan.bases[n]:
                plain = k + 1
                self._add(n, plain, base)
        judged = self._against_default(dict.fromkeys(claims, k), {k: name}, plain)
        return [replace(one, proved=judged.get(n)) for n, one in enumerate(tuned)]

    def _command(self, written: Written) -> str:
        """Return the shell line that starts a program with the files in effect, and record it in the campaign."""
        if not written.paths:
            return ""
        command = osu.line(self.points[0, 0].spec, ["PROGRAM"], written)
        remember(self.campaign, self.plan.benchmark, dict(written.reads), command)
        return command

    def _outside(self, tuned: Sequence[Tuned], written: Written) -> tuple[list[Tuned], str, str]:
        """Let the OSU program for this work read the files; return also its name, and why there is no more proof."""
        claims = {n: one for n, one in enumerate(tuned) if one.claimed}
        bases = {n: one.base for n, one in claims.items()}
        if not written.paths:
            return list(tuned), "", "no file holds the settings"
        if why := next(filter(None, map(osu.missing, bases.values())), ""):
            return list(tuned), "", why
        number_of(self.campaign, self.plan.benchmark, f"{PROGRAM}:{written.digest}")
        test = osu.test_of(self.plan.bases[0])
        self.say(f"{test} reads the files")
        unit = 1e-6 if METRICS[self.plan.metric].unit == "µs" else math.nan
        sides, why = osu.proved(
            bases,
            written,
            self.campaign,
            written.digest,
            metric=self.plan.metric,
            runs=self.plan.confirm,
            effort=self.plan.effort,
            seconds={n: one.confirmed.base * unit for n, one in claims.items() if one.confirmed},
            affords=self._affords,
        )
        return self._seen(tuned, sides), test, why

    def _seen(self, tuned: Sequence[Tuned], sides: osu.Sides) -> list[Tuned]:
        """Return the points with what a program printed."""
        enough = {n: both for n, both in sides.items() if min(len(one.values) for one in both) > 1}
        judged = judge([Pair(*both, self.plan.metric) for both in enough.values()], relevant=self.plan.relevant)
        if METRICS[self.plan.metric].unit == "µs":  # the program prints µs with two decimals
            step = clock_ns("omb") * 1e-3
            judged = [between(one.base / step, one.value / step).applied(one) for one in judged]
        by_base = dict(zip(enough, judged, strict=True))
        return [replace(one, outside=by_base.get(n)) for n, one in enumerate(tuned)]

    def _against_default(self, sides: dict[int, int], names: dict[int, str], default: int = 0) -> dict[int, Judgement]:
        """Measure settings and the default in interleaved fresh launches, and judge them together.

        Parameters
        ----------
        sides : base → setting.
        names : setting → name under which its launches are numbered.
        default : the setting of the default.
        """
        first = {k: self._first(name) for k, name in sorted(names.items())}
        for number in range(self.plan.confirm):
            for k in first:
                bases = [n for n, side in sides.items() if side == k]
                if not self._affords(2 * len(bases)):
                    self.ended = self.ended or "the budget ended while winners were confirmed"
                    break
                self._measure([pair for n in bases for pair in ((n, default), (n, k))], first[k] + number)
        pairs = {n: (self._side(n, default, first[k]), self._side(n, k, first[k])) for n, k in sides.items()}
        enough = {n: sides for n, sides in pairs.items() if min(len(one.values) for one in sides) > 1}
        if not enough:
            return {}
        judged = judge([Pair(*both, self.plan.metric) for both in enough.values()], relevant=self.plan.relevant)
        steps = ([self._steps(n, k, first[sides[n]]) for k in (default, sides[n])] for n in enough)
        seen = (
            between(*both).applied(judgement) if all(map(math.isfinite, both)) else judgement
            for both, judgement in zip(steps, judged, strict=True)
        )
        return dict(zip(enough, seen, strict=True))

    def _steps(self, n: int, k: int, first: int) -> float:
        """Return how many steps of the clock the medians of a side span, the median over its launches; or NaN."""
        known = [self.ticks.get((n, k, first + number), math.nan) for number in range(self.plan.confirm)]
        return float(np.nanmedian(known)) if any(one > 0 for one in known) else math.nan

    def _side(self, n: int, k: int, first: int) -> Launches:
        """Return the launches of one side of a confirmation."""
        keys = [(n, k, first + number) for number in range(self.plan.confirm)]
        keys = [key for key in keys if key in self.values]
        return Launches([self.values[key] for key in keys], [self.starts[key] for key in keys])

    def _first(self, name: str) -> int:
        """Return the first launch number of a winner's confirmation; the campaign remembers it."""
        return CONFIRM * (1 + number_of(self.campaign, self.plan.benchmark, name))
