"""Does a setting make a difference, at which sizes, and how large is it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.errors import LabkitError, SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import comparison
from labkit.judge.comparison import Compared, Comparison
from labkit.judge.comparison.judging import BETWEEN, SAME, UNDECIDED, Judgement
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_range, plural
from labkit.read.records.factors import NONE
from labkit.stats.decision import RELEVANT
from labkit.studies import number, size_words, words
from labkit.studies._derived import of_samples

OFFERED = ("mpi.latency", "mpi.bandwidth", "mpi.allreduce", "mpi.bcast", "mpi.alltoall")
COLUMNS = ["message_size_B", "side", "ratio", "interval", "p (Holm)", "order", "verdict", "launches needed"]


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on comparisons.

    Parameters
    ----------
    benchmark : benchmark to measure: mpi.latency, mpi.bandwidth, mpi.allreduce, mpi.bcast or mpi.alltoall.
    sizes : message sizes, MIN:MAX or a list.
    factor : setting that is compared: transport, launcher, bind, an option of the benchmark, or env.NAME.
    levels : levels of the factor; the first is the base.
    allow : further factors that may differ, such as library where launchers are compared.
    relevant : smallest relevant difference, as a fraction of the value.
    testbed : where the ranks run.
    """

    benchmark: str = "mpi.latency"
    sizes: str = "8:64Ki:*8"
    factor: str = "transport"
    levels: str = "shm,tcp"
    allow: str = ""
    relevant: float = RELEVANT
    testbed: str = "local"


class Study(studies.Study):
    """Levels of a factor, measured alternately and compared by their launches."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = OFFERED
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every size at every level."""
        v = self.values
        if v.benchmark not in OFFERED:
            raise SpecError(f"benchmark={v.benchmark!r}, but it must be one of {', '.join(OFFERED)}. Set one of these.")
        if len(set(words(v.levels))) < 2:
            raise SpecError(f"levels={v.levels!r}, but a comparison needs two. Set for example levels='shm,tcp'.")
        return sweep(v.benchmark, sizes=v.sizes, **{"testbed": v.testbed, v.factor: words(v.levels)})

    @of_samples
    def compared(self) -> Comparison | Text | Omitted:
        """The comparison, or why there is none."""
        v = self.values
        launches = [one for one in comparison.of_samples(self.samples) if one.benchmark == v.benchmark]
        present = {level for one in launches for level in one.level(v.factor)}
        levels = [level for level in words(v.levels) if level in present]
        if len(levels) < 2:
            return NOTHING
        try:
            sides = comparison.by_levels(launches, v.factor, levels)
            return comparison.compare(sides, by=v.factor, allow=words(v.allow), relevant=v.relevant)
        except LabkitError as error:
            return Text(f"No comparison: {error}")

    def figure(self) -> Figure | Text | Omitted:
        """Ratio to the base with its interval, against message size."""
        return Figure(figures.shifts(self.compared)) if isinstance(self.compared, Comparison) else self.compared

    def values_figure(self) -> Figure | Omitted:
        """What is compared: a line for each level."""
        rows = self.of(self.values.benchmark)
        metric = "bandwidth_MBps" if self.values.benchmark == "mpi.bandwidth" else "latency_us"
        column = next((c for c in (self.values.factor, f"option_{self.values.factor}") if c in rows), "")
        column = column or self.values.factor.replace("env.", "env_", 1)
        return self.drawn(figures.versus_size, rows, metric, tail=None, series=[column] if column in rows else [])

    def table(self) -> pd.DataFrame:
        """A row for each size and level but the base: ratio, interval, p, order of launches, verdict."""
        if not isinstance(self.compared, Comparison):
            return pd.DataFrame(columns=COLUMNS)
        rows = [
            (
                one.size,
                one.side,
                _ratio(one.judgement),
                format_range(one.judgement.ratio_low, one.judgement.ratio_high),
                number(one.judgement.p_adjusted),
                one.judgement.design,
                ": ".join(filter(None, (one.judgement.verdict, one.judgement.reason))),
                _needed(one.judgement.launches_needed),
            )
            for one in self.compared.rows
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        if not isinstance(self.compared, Comparison):
            return self.compared
        rows = self.compared.rows
        sentences = [self.compared.sentence]
        for side in self.compared.sides[1:]:
            every = [one for one in rows if one.side == side]
            part = [one for one in every if one.judgement.verdict not in (SAME, UNDECIDED) and not any(one.coarse)]
            sentences.append(self._differs(side, self.compared.sides[0], part, len(every)))
        return listed([*sentences, *self.compared.warnings])

    @staticmethod
    def _differs(side: str, base: str, part: Sequence[Compared], every: int) -> str:
        """Ratio of each side to the base, at the sizes where they differ."""
        if not part:
            return f"{side} and {base}: no difference is claimed at any size."
        least, most = (pick(part, key=lambda one: one.judgement.ratio) for pick in (min, max))
        counts = f"from {most.launches[0]} and {plural(most.launches[1], 'launch')}"
        text = f"{side} is {_times(most.judgement)} {base} at {size_words(most.size)}"
        if all(one.judgement.verdict == BETWEEN for one in part):
            text = f"one was measured before the other, so it may be the machine: {text}"
        if least is most:
            return f"{text}, {counts}. It differs at 1 of {plural(every, 'size')}."
        return (
            f"{text} and {_times(least.judgement)} at {size_words(least.size)}: the largest and the smallest ratio of "
            "the "
            f"{len(part)} of {plural(every, 'size')} that differ, {counts} (95 % intervals)."
        )


def _times(judged: Judgement) -> str:
    """Return the ratio to the base in words, with its interval."""
    return f"{judged.times} times ({format_range(judged.ratio_low, judged.ratio_high)})"


def _ratio(judged: Judgement) -> str:
    """Ratio to the base; nothing if the launches give it no interval."""
    return NONE if math.isnan(judged.ratio_low) else judged.times


def _needed(launches: int | None) -> str:
    """How many launches per side would decide, in a table."""
    if launches is None:
        return "more than 1000"
    return str(launches) if launches else NONE
