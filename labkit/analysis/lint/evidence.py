"""What a rule is, and what it sees of a campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from labkit.records import aggregate
from labkit.records.factors import differing, named, text
from labkit.samples import Samples
from labkit.samples.facts import BROUGHT, FINGERPRINT
from labkit.stats.modes import Modes
from labkit.units import format_size

if TYPE_CHECKING:
    from labkit.analysis.plausibility import Oddity

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Breach:
    """A place where a rule is broken.

    Parameters
    ----------
    benchmark : its name; empty for the whole campaign.
    point : size and settings of the point; empty for the whole benchmark.
    what : what is there, in a few words with its numbers.
    brought : whether the point was imported, so that labkit cannot measure it again.
    """

    benchmark: str
    point: str
    what: str
    brought: bool = False


@dataclass(frozen=True)
class Evidence:
    """Everything that rules see of a campaign. It is data: nothing of it is executed.

    Parameters
    ----------
    name : of the campaign.
    points : samples; their values may be left out, only specs, hosts and metadata are read.
    records : a row per point and launch, from `labkit.records.table`.
    summary : a row per point, from `labkit.records.summary`.
    failed : what was skipped or failed, with the reason.
    modes : fingerprint and launch → the two modes of its iterations, where there are two.
    """

    name: str
    points: Sequence[Samples]
    records: pd.DataFrame
    summary: pd.DataFrame
    failed: Sequence[tuple[str, str]] = ()
    modes: Mapping[tuple[str, int], Modes] = field(default_factory=dict)

    @cached_property
    def odd(self) -> tuple[Oddity, ...]:
        """Results that contradict what must be expected, the surest first."""
        from labkit.analysis import plausibility

        return plausibility.of(self)

    @cached_property
    def factors(self) -> dict[str, list[str]]:
        """Benchmark → columns beside the size in which its points differ."""
        return {name: differing(rows, skip=("fingerprint", "campaign")) for name, rows in self.by_benchmark()}

    @cached_property
    def labels(self) -> dict[str, str]:
        """Fingerprint → size and settings that tell a point from the others of its benchmark."""
        labels: dict[str, str] = {}
        for name, rows in self.by_benchmark():
            columns = ["fingerprint", "message_size_B", "origin", "ranks_assumed", *self.factors[name]]
            for row in rows[[*dict.fromkeys(columns)]].to_dict("records"):
                size = [format_size(int(row["message_size_B"]))] if row["message_size_B"] else []
                settings = [f"{named(c)}={text(row, c)}" for c in self.factors[name]]
                labels[str(row["fingerprint"])] = ", ".join([*size, *settings])
        return labels

    @cached_property
    def specs(self) -> dict[str, Samples]:
        """Fingerprint → one of its samples."""
        return {FINGERPRINT.of(one.meta): one for one in self.points}

    def by_benchmark(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the name and the rows of each benchmark, with the columns it has."""
        yield from aggregate.by_benchmark(self.summary).items()

    @cached_property
    def _rows(self) -> list[Mapping[str, Any]]:
        """The row of each point."""
        names = [str(name) for name in self.summary]
        columns = [self.summary[name].tolist() for name in self.summary]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def each(self) -> Iterator[Mapping[str, Any]]:
        """Yield the row of each point."""
        yield from self._rows

    def random(self) -> Iterator[Mapping[str, Any]]:
        """Yield the row of each point whose times vary by chance; those of a simulation do not."""
        return (row for row in self._rows if row["origin"] not in ("simulated", "modelled"))

    def breach(self, row: Mapping[str, Any], what: str) -> Breach:
        """Say what is wrong with the point of a row."""
        label = self.labels.get(str(row["fingerprint"]), "")
        return Breach(str(row["benchmark"]), label, what, row["origin"] in BROUGHT)

    @staticmethod
    def of(rows: pd.DataFrame, what: str, point: str = "") -> Breach:
        """Say what is wrong with several points of one benchmark."""
        return Breach(str(rows["benchmark"].iloc[0]), point, what, set(rows["origin"]) <= {*BROUGHT})


@dataclass(frozen=True)
class Rule:
    """Something that must hold for the data of a campaign.

    Parameters
    ----------
    code : name for programs.
    level : ``error`` if a broken rule makes a statement wrong or unusable, ``warning`` if it makes it doubtful,
        ``note`` if the reader should know.
    source : number of the rule of Hoefler and Belli; 0 for labkit's own.
    must : what must be.
    remedy : what to do.
    check : yields the places where it is broken.
    brought : what to do about imported points, if `remedy` needs another measurement.
    """

    code: str
    level: Level
    source: int
    must: str
    remedy: str
    check: Callable[[Evidence], Iterator[Breach]]
    brought: str = ""

    @property
    def origin(self) -> str:
        """Where the rule comes from, in words."""
        return f"Hoefler and Belli, rule {self.source}" if self.source else "labkit"
