"""Which setting of the MPI library is the fastest for each size, how surely, and does the written file help?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from labkit import figures, studies, tuning
from labkit.errors import DataError, SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.point.columns import METRICS
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_range, format_share, parse_count, plural
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import words
from labkit.studies._derived import of_samples
from labkit.tuning import openmpi
from labkit.tuning.files import point
from labkit.tuning.plan import noted

if TYPE_CHECKING:
    from labkit.run.measuring import Report
    from labkit.store.campaign import Campaign

OFFERED = ("mpi.allreduce", "mpi.bcast", "mpi.alltoall", "mpi.allgather", "mpi.reduce", "mpi.latency")
COLUMNS = ["size, ranks", "winner", "default", "with it", "ratio", "interval", "result", "ratio with the file"]
PROGRAM = "ratio in an OSU program"


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on tuning.

    Parameters
    ----------
    benchmark : benchmark to tune: mpi.allreduce, mpi.bcast, mpi.alltoall, mpi.allgather, mpi.reduce or mpi.latency.
    sizes : message sizes, MIN:MAX or a list.
    ranks : numbers of ranks, a list.
    factor : factor that is tuned: algorithm, segment or fanout of a collective, env.NAME, bind, or transport.
    levels : levels of the factor; all for every algorithm of the library.
    rounds : most rounds of the race.
    budget : min that measuring may take; 0 for no limit.
    transport : path of the messages: auto, shm or tcp.
    testbed : where the ranks run.
    launches : launches of each side of a confirmation, at least 4.
    time_cap : s of timed iterations for a point and launch; a race needs many launches rather than long ones.
    """

    benchmark: str = "mpi.allreduce"
    sizes: str = "1Ki,64Ki"
    ranks: str = "2"
    factor: str = "algorithm"
    levels: str = "all"
    rounds: int = 8
    budget: float = 10.0
    transport: str = "auto"
    testbed: str = "local"
    launches: int = 8
    time_cap: float = 0.5


class Study(studies.Study):
    """A race of settings, the confirmation of its winners, and ranks that read the file."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = OFFERED
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every setting at every point; if nothing is measured, those that the campaign remembers."""
        try:
            plan = self._plan() if self.values.measure else noted(self.campaign, self.values.benchmark)
        except DataError:
            return []
        return [setting.of(base) for base in plan.bases for setting in plan.settings]

    def _plan(self) -> tuning.Plan:
        """What the parameters ask for."""
        v = self.values
        if v.benchmark not in OFFERED:
            raise SpecError(f"benchmark={v.benchmark!r}, but it must be one of {', '.join(OFFERED)}. Set one of these.")
        ranks = [parse_count(word) for word in words(v.ranks)]
        if not all(ranks):
            raise SpecError(f"ranks={v.ranks!r}, but it must be whole numbers, 1 or more. Set for example ranks='2,4'.")
        bases = sweep(
            v.benchmark, sizes=v.sizes, ranks=[one for one in ranks if one], transport=v.transport, testbed=v.testbed
        )
        plan = tuning.Plan(
            bases=tuple(studies.settled(base, self.given.setting) for base in bases),
            settings=tuple(tuning.settings(v.benchmark, {v.factor: words(v.levels)})),
            effort=self.effort,
            rounds=v.rounds,
            confirm=max(4, v.launches),
        )
        return dataclasses.replace(plan, budget=60 * v.budget) if v.budget else plan

    def run(self, progress: Report | None = None) -> Campaign:
        """Race, confirm, write and prove."""
        if self.values.measure:
            tuning.tune(self._plan(), self.campaign, progress=progress)
        return self.campaign

    @property
    def samples(self) -> list[Samples]:
        """All launches of the settings, with the confirmations, which the parameters do not name."""
        named = {point.fingerprint for point in self.points}
        if not named:
            return super().samples
        return [one for one in self.campaign.samples(self.values.benchmark) if FINGERPRINT.of(one.meta) in named]

    @of_samples
    def outcome(self) -> tuning.Outcome | Text:
        """What the launches say, or why they say nothing."""
        try:
            return tuning.read(self.campaign, self.values.benchmark)
        except DataError as error:
            return Text(f"No tuning: {error}")

    def figure(self) -> Figure | Omitted:
        """Time of every setting by size, over all its launches, in the race and in the confirmation."""
        if isinstance(self.outcome, Text):
            return NOTHING
        rows, every = self.of(self.values.benchmark), self.outcome.plan.settings[::-1]
        if (file := f"env_OMPI_MCA_{openmpi.FILES}") in rows:
            rows = rows[rows[file].isna()]  # without the ranks that read the file
        names = [next(one.name for one in every if _sets(row, one)) for row in rows.to_dict("records")]
        rows = rows.assign(setting=names)
        series = ["setting", "ranks"] if rows["ranks"].nunique() > 1 else ["setting"]
        return self.drawn(figures.versus_size, rows, "latency_us", tail=None, series=series)

    def table(self) -> pd.DataFrame:
        """A row for each size and number of ranks: the winner beside the default, in launches that took turns."""
        if isinstance(self.outcome, Text):
            return pd.DataFrame(columns=COLUMNS)
        rows = []
        for one in self.outcome.points:
            judged, proved = one.confirmed, one.proved
            rows.append(
                (
                    point(one.base),
                    self.outcome.plan.settings[one.winner].name,
                    judged.base if judged else math.nan,
                    judged.value if judged else math.nan,
                    judged.ratio if judged else math.nan,
                    format_range(judged.ratio_low, judged.ratio_high) if judged else "–",
                    "confirmed" if one.claimed else one.reason,
                    proved.ratio if proved else math.nan,
                )
            )
        table = pd.DataFrame(rows, columns=COLUMNS)
        if self.outcome.program:
            table[PROGRAM] = [one.outside.ratio if one.outside else math.nan for one in self.outcome.points]
        return table

    def race(self) -> pd.DataFrame:
        """A row for each setting and point: how far behind the leader it was, and when it stopped."""
        columns = ["size, ranks", "setting", "behind the leader", "rounds", "end"]
        if isinstance(self.outcome, Text):
            return pd.DataFrame(columns=columns)
        rows = []
        for one in self.outcome.points:
            names = [setting.name for setting in self.outcome.plan.settings]
            for k in sorted(one.race.behind, key=lambda k, race=one.race: race.behind[k]):  # type: ignore[misc]
                stopped = one.race.stopped.get(k)
                end = "won" if k == one.race.leader else "failed" if k in one.race.failed else "not stopped"
                end = "stopped" if stopped else end
                behind = format_share(one.race.behind[k], sign=True)
                rows.append((point(one.base), names[k], behind, stopped or one.race.rounds, end))
        return pd.DataFrame(rows, columns=columns)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        outcome = self.outcome
        if isinstance(outcome, Text):
            return outcome
        unit = METRICS[outcome.plan.metric].unit
        sentences = []
        for one in outcome.points:
            name, judged = outcome.plan.settings[one.winner].name, one.confirmed
            if one.claimed and judged is not None:
                interval = format_range(judged.ratio_low, judged.ratio_high)
                sentences.append(
                    f"{point(one.base)}: {name} takes {judged.times} times the default's "
                    f"{studies.number(judged.base)} {unit} (95 % interval {interval}, {outcome.plan.confirm} launches "
                    "per side, interleaved)."
                )
                if one.outside is not None:
                    ratio = format_range(one.outside.ratio_low, one.outside.ratio_high)
                    sentences.append(
                        f"{point(one.base)}: {outcome.program} takes {one.outside.times} times as long "
                        f"with the file (95 % interval {ratio})."
                    )
            else:
                sentences.append(f"{point(one.base)}: nothing is claimed, because {one.reason}.")
        share = outcome.starts / outcome.exhaustive if outcome.exhaustive else 0.0
        sentences.append(
            f"The races took {plural(outcome.starts, 'launch')}, {format_share(share)} of those of all settings in "
            "all rounds. "
            f"The chance that a race stopped the best setting of a point is at most {format_share(outcome.plan.error)}."
        )
        return listed([*sentences, *([f"{outcome.ended}."] if outcome.ended else [])])


def _sets(row: Mapping[str, object], setting: tuning.Setting) -> bool:
    """Whether a row of the summary was measured in a setting; the default fits all rows, so it is tried last."""
    given = {name.removeprefix("env_"): str(value) for name, value in row.items() if name.startswith("env_")}
    same = all(given.get(name) == value for name, value in setting.environment)
    return same and all(str(row.get(name)) == str(value) for name, value in setting.fields)
