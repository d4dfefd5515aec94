"""What an odd result is: a typed record of the expectation that it contradicts, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Confidence = Literal["observed", "shown", "undecided"]
CONFIDENCES: dict[Confidence, str] = {  # surest first
    "observed": "a count or an order that needs no statistics",
    "shown": "launches differ by a rank test at 5 %, Holm's correction over the pairs of the series",
    "undecided": "launches are too few to decide: it may be chance",
}


@dataclass(frozen=True)
class Reading:
    """A value that an odd result rests on.

    Parameters
    ----------
    where : the point, or the level of the factor, in words.
    value, low, high : median over launches and the ends of their interval or range, in `unit`; NaN where none.
    unit : of these numbers.
    launches : behind them.
    fingerprint : of the point; empty for a value of none.
    """

    where: str
    value: float
    low: float
    high: float
    unit: str
    launches: int
    fingerprint: str = ""


@dataclass(frozen=True)
class Explanation:
    """A possible reason, with what in the data speaks for it.

    Parameters
    ----------
    cause : in a few words.
    evidence : what the data show; a possible reason without evidence is none.
    """

    cause: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.cause} ({self.evidence})"


@dataclass(frozen=True)
class Oddity:
    """A result that contradicts what must be expected.

    Parameters
    ----------
    rule : code of the rule that says what is expected.
    benchmark : its name.
    setting : what all its points share, in words.
    what : the contradiction in a few words, without the numbers.
    readings : the values, the odd one first.
    times : how far they are from what is expected, as a ratio above 1; NaN if that is no number.
    confidence : how sure the contradiction is.
    evidence : counts and notes that belong to it.
    explanations : possible reasons; none if it is unexplained.
    again : command that would decide it.
    """

    rule: str
    benchmark: str
    setting: str
    what: str
    readings: tuple[Reading, ...]
    times: float
    confidence: Confidence
    evidence: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = field(default=())
    again: str = ""

    @property
    def explained(self) -> bool:
        """Whether the data speak for a reason."""
        return bool(self.explanations)

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return ", ".join(filter(None, [self.setting, " against ".join(one.where for one in self.readings)]))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; NaN becomes None."""

        def plain(value: float) -> float | None:
            return None if math.isnan(value) else value

        readings = [
            {**vars(one), "value": plain(one.value), "low": plain(one.low), "high": plain(one.high)}
            for one in self.readings
        ]
        whole = {name: getattr(self, name) for name in ("rule", "benchmark", "setting", "what", "confidence", "again")}
        return whole | {
            "readings": readings,
            "times": plain(self.times),
            "evidence": list(self.evidence),
            "explanations": [vars(one) for one in self.explanations],
            "explained": self.explained,
        }


def ordered(oddities: Sequence[Oddity]) -> tuple[Oddity, ...]:
    """Return odd results with the surest first, and among these the unexplained, then the farthest."""
    sure = list(CONFIDENCES)

    def key(one: Oddity) -> tuple[int, bool, float]:
        return sure.index(one.confidence), one.explained, -(0.0 if math.isnan(one.times) else one.times)

    return tuple(sorted(oddities, key=key))
