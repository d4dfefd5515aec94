"""Possible causes of a number that is not good: one file for each in `labkit/judge/causes`, found by scanning.

A cause is tested against the data. It defines the evidence for and against it, and the measurement that decides. A
cause without evidence in the data is not named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.judge.finding import DEFECT, Evidence, Finding, Value, Wanted
from labkit.judge.view import View, measuring
from labkit.models import bounds
from labkit.point.columns import METRICS, of_rate, statistic_column
from labkit.point.spec import Spec
from labkit.read.records import rerun, statistic_of
from labkit.store.samples import Samples

if TYPE_CHECKING:
    from labkit.judge.view.points import Row, Table


@dataclass(frozen=True, kw_only=True)
class Case:
    """A verdict or violation in need of a cause, with the data of its points.

    Parameters
    ----------
    about : the finding.
    view : view of the campaign.
    samples : a launch of its first point; its metadata represent the point.
    others : findings of the same rule; the finding itself may be among them.
    all : findings of all rules by their codes.
    """

    about: Finding
    view: View
    samples: Samples
    others: tuple[Finding, ...] = ()
    all: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Of its first point."""
        return self.about.subject.points[0]

    @property
    def measured(self) -> Value:
        """The value that is not good."""
        return self._value("measured")

    @property
    def other(self) -> Value:
        """The value that contradicts the first value of a violation."""
        return self._value("other")

    def _value(self, name: str) -> Value:
        value = self.about.values[name]
        assert isinstance(value, Value)
        return value

    @property
    def table(self) -> Table:
        """The points of its benchmark."""
        return self.view.parts[self.about.subject.benchmark]

    @property
    def place(self) -> int:
        """Position of the first point in this table."""
        return self.table.places[self.fingerprint]

    @cached_property
    def row(self) -> Row:
        """Row of the summary of its first point."""
        return self.table.row(self.place)

    @cached_property
    def metric(self) -> str:
        """Metric of the value that is not good; empty if the summary does not have it."""
        for name in [name for name, metric in METRICS.items() if metric.unit == self.measured.unit]:
            columns = [statistic_column(name, one) for one in (statistic_of(self.row, name) or "p50", "mean")]
            if self.measured.value in [self.row.get(column) for column in columns]:
                return name
        return ""

    @cached_property
    def launches(self) -> tuple[Samples, ...]:
        """Of its first point; none if unknown."""
        known, rows = self.view.launches, self.view.rows_of(self.fingerprint).tolist()
        return tuple(known.samples(rows).values()) if known is not None else ()

    @property
    def networked(self) -> bool:
        """Whether messages of the point may cross a network."""
        known = benchmarks.look_up(self.about.subject.benchmark)
        messages = known is not None and (known.mpi or bool(known.directions or known.crossings))
        return messages and not bounds.inside(self.samples)

    @property
    def rate(self) -> bool:
        """Whether more is better; the unit shows it for a value that no column of the summary has."""
        return METRICS[self.metric].better == "higher" if self.metric else of_rate(self.measured.unit)

    @property
    def beyond(self) -> bool:
        """Whether the value is better than its path allows."""
        return self.about.form == DEFECT

    @property
    def spec(self) -> Spec:
        """Of its first point."""
        return self.samples.spec

    @property
    def specs(self) -> list[Spec]:
        """Of its points; none if unknown."""
        found = [spec for name in self.about.subject.points if (spec := self.view.spec(name))]
        return found if len(found) == len(self.about.subject.points) else []

    @property
    def rows(self) -> list[Row]:
        """Rows of the summary of its points."""
        found = map(self.view.row, self.about.subject.points)
        return [row for row in found if row is not None]


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A possible cause of a number.

    Parameters
    ----------
    code : name for programs; that of its file, with ``-`` for ``_``.
    name : the subject of a sentence.
    seen : what must be visible if it holds.
    excluded : what would exclude it.
    decides : what to measure to decide it: a setting, counters, or another benchmark.
    clues : code → template of the sentence about a piece of evidence.
    remedy : what to do about it, as a sentence; empty for nothing.
    test : returns a finding with the evidence for it and against it; None if the data show neither.
    explains : kinds or rule codes of the findings that it may explain.
    beyond : whether it may explain a value that is better than its path allows.
    weak : clues that many healthy points show too: alone they make the cause possible, not likely.
    points : returns the points to measure for a decision, if labkit can measure them.
    names : code of a clue → more specific name if this clue is present.
    worth : whether to measure these points for an unexplained verdict even without evidence.
    """

    code: str
    name: str
    seen: str
    excluded: str
    decides: str
    clues: Mapping[str, str]
    remedy: str
    test: Callable[[Case], Finding | None]
    explains: tuple[str, ...] = ("verdict",)
    beyond: bool = False
    weak: tuple[str, ...] = ()
    points: Callable[[Case], Iterable[Wanted]] = lambda case: ()
    names: Mapping[str, str] = field(default_factory=dict)
    worth: bool = False

    def may_explain(self, one: Finding) -> bool:
        """Whether it may be behind a finding."""
        return (one.kind in self.explains or one.code in self.explains) and (self.beyond or one.form != DEFECT)

    def found(
        self,
        case: Case,
        evidence: Iterable[Evidence] = (),
        against: Iterable[Evidence] = (),
        *,
        predicted: Value | None = None,
        without: Value | None = None,
        command: str = "",
    ) -> Finding | None:
        """Return the evidence of the data on this cause; None without any.

        Parameters
        ----------
        predicted : the value that the cause predicts, in the unit of the measured one.
        without : the value without the cause, in the same unit.
        command : command that decides or repairs it (default: measure the points that decide it).
        """
        clues, counter = tuple(evidence), tuple(against)
        if not clues and not counter:
            return None
        measure: tuple[Wanted, ...] = ()
        if not counter:
            deciding = self.lacking(case)
            measure = () if rerun.imported(case.spec) else deciding
            command = command or (rerun.IMPORT if deciding and not measure else measuring(measure))
        known = {"predicted": predicted, "without": without}
        values: dict[str, Any] = {"name": self.name} | {name: value for name, value in known.items() if value}
        return Finding(
            code=self.code,
            kind="cause",
            level="unknown" if clues and all(one.code in self.weak for one in clues) else "note",
            subject=case.about.subject,
            values=values,
            evidence=clues,
            against=counter,
            command=command,
            measure=measure,
        )

    def lacking(self, case: Case) -> tuple[Wanted, ...]:
        """Return the points that decide it and that the campaign lacks."""
        return case.view.lacking(self.points(case))


def ranked(causes: Iterable[Finding], about: Finding) -> tuple[Finding, ...]:
    """Return causes of a verdict: likely ones with the likeliest first, then possible ones, then excluded ones.

    The likeliest cause leaves the smallest factor unexplained: between predicted and measured value, or between the
    value without the cause and the reference of the verdict. A cause without such a value explains no part of the
    factor between measured value and reference.
    """
    measured, limit = about.values.get("measured"), about.values.get("limit")
    whole = _factor(measured, limit)
    nothing = math.inf if whole is None else whole

    def key(one: Finding) -> tuple[bool, bool, float]:
        left = [_factor(one.values.get("predicted"), measured), _factor(one.values.get("without"), limit)]
        return not one.supported, not one.likely, min((value for value in left if value is not None), default=nothing)

    return tuple(sorted(causes, key=key))


def _factor(one: object, other: object) -> float | None:
    """Return the logarithm of the factor between two values; None if unknown."""
    if isinstance(one, Value) and isinstance(other, Value) and one.value > 0 and other.value > 0:
        return abs(math.log(one.value / other.value))
    return None
