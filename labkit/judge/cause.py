"""What may be behind a number that is not good: one file for each cause in `labkit/judge/causes`, found by scanning.

A cause is tested against the data: it says what speaks for it, what speaks against it, and which measurement decides. A
cause of which the data show nothing is not named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.judge.finding import Evidence, Finding, Value
from labkit.point.spec import Spec
from labkit.store.samples import Samples

if TYPE_CHECKING:
    from labkit.judge.view import View


@dataclass(frozen=True, kw_only=True)
class Case:
    """A verdict that asks for a cause, with what the data show of its point.

    Parameters
    ----------
    about : the verdict.
    view : of the campaign.
    samples : a launch of the point; its metadata stand for the point.
    others : verdicts of the same kind on other settings and benchmarks.
    """

    about: Finding
    view: View
    samples: Samples
    others: tuple[Finding, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of the point."""
        return self.about.subject.points[0]

    @property
    def measured(self) -> Value:
        """The value that is not good."""
        value = self.about.values["measured"]
        assert isinstance(value, Value)
        return value


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Something that may be behind a number.

    Parameters
    ----------
    code : name for programs; that of its file, with ``-`` for ``_``.
    name : a few words, as the subject of a sentence.
    seen : what must be visible if it holds.
    excluded : what would exclude it.
    decides : which measurement decides it.
    clues : code → template of the sentence about a piece of evidence.
    remedy : what to do about it, as a sentence.
    test : returns a finding with what speaks for it and against it; None where the data say nothing of it.
    """

    code: str
    name: str
    seen: str
    excluded: str
    decides: str
    clues: Mapping[str, str]
    remedy: str
    test: Callable[[Case], Finding | None]
    source: str = field(default="")

    def found(
        self,
        case: Case,
        evidence: Iterable[Evidence] = (),
        against: Iterable[Evidence] = (),
        *,
        predicted: Value | None = None,
        command: str = "",
        measure: Iterable[Spec] = (),
    ) -> Finding | None:
        """Return what the data say of this cause; None if they say nothing.

        Parameters
        ----------
        predicted : the value that the cause would lead to, in the unit of the measured one.
        command : that decides it, or repairs it.
        measure : points whose measurement decides it.
        """
        clues, counter = tuple(evidence), tuple(against)
        if not clues and not counter:
            return None
        values: dict[str, Any] = {"name": self.name} | ({"predicted": predicted} if predicted else {})
        return Finding(
            code=self.code,
            kind="cause",
            level="note",
            subject=case.about.subject,
            values=values,
            evidence=clues,
            against=counter,
            command=command,
            measure=tuple(measure),
        )


def ranked(causes: Iterable[Finding], measured: Value) -> tuple[Finding, ...]:
    """Return causes with the likeliest first, and those that the data exclude last.

    One that predicts the measured value goes before one that predicts another or none.
    """

    def key(one: Finding) -> tuple[bool, float]:
        value = one.values.get("predicted")
        known = isinstance(value, Value) and value.value > 0 and measured.value > 0
        miss = abs(math.log(value.value / measured.value)) if known and isinstance(value, Value) else math.log(2)
        return not one.supported, miss

    return tuple(sorted(causes, key=key))
