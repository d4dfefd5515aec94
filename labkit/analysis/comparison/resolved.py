"""What the clock resolves of a comparison: values that are bounds, and differences of less than two of its steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.analysis.comparison.judging import SAME, UNDECIDED, Judgement
from labkit.records.resolution import STEPS, TICKS, coarse, spans

UNRESOLVED = f"the values differ by less than {STEPS} steps of the clock, or span fewer than {TICKS}"
_EXACT = ("p50", "max")  # times that occurred, which are whole steps
_ENOUGH = STEPS - 1e-6
_NUMBERS = ("shift", "shift_low", "shift_high", "ratio", "ratio_low", "ratio_high")


@dataclass(frozen=True)
class Resolved:
    """What the clock resolves of the two sides of a point.

    Parameters
    ----------
    bounds : whether the value of the base, and that of the side, spans fewer than ten steps of the clock.
    apart : difference of both values in steps of the clock; infinity where the clock does not limit it.
    """

    bounds: tuple[bool, bool]
    apart: float

    def applied(self, judgement: Judgement) -> Judgement:
        """Return the judgement without numbers, and without a verdict, that the clock does not resolve."""
        near, bound = self.apart < _ENOUGH, any(self.bounds)
        unknown = {SAME: bound, UNDECIDED: bound and near}.get(judgement.verdict, near)
        if bound:  # differences and ratios of bounds are unknown
            nothing: dict[str, Any] = dict.fromkeys(_NUMBERS, math.nan)
            judgement = replace(judgement, **nothing, deciles=())
        return replace(judgement, verdict=UNDECIDED, reason=UNRESOLVED, launches_needed=0) if unknown else judgement


def between(base: float, side: float) -> Resolved:
    """Return what the clock resolves of two medians, from the number of its steps that each of them spans.

    Examples
    --------
    >>> between(8.0, 20.0).bounds, between(30.0, 31.0).apart
    ((True, False), 1.0)
    """
    return Resolved((base < TICKS, side < TICKS), abs(side - base))


def resolved(sides: Sequence[Sequence[Mapping[str, Any]]], metric: str, statistic: str) -> Iterator[Resolved]:
    """Compare each side with the first: yield what the clock resolves of the two.

    Parameters
    ----------
    sides : the rows of each side, one for each launch.
    metric, statistic : what is compared.
    """
    bounds = [any(coarse(row, metric, statistic) for row in rows) for rows in sides]
    steps = [spans(rows, metric, statistic) for rows in sides]
    sampled = statistic not in _EXACT and any(row.get("n") for rows in sides for row in rows)
    for bound, count in zip(bounds[1:], steps[1:], strict=True):
        limited = not sampled or bound or bounds[0]  # a mean over many samples is finer than a step
        apart = abs(count - steps[0])
        yield Resolved((bounds[0], bound), apart if limited and apart == apart else math.inf)
