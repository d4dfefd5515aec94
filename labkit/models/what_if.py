"""What a whole would take if some of its parts were cheaper, and nothing else changed.

Parts follow one another and do not overlap, so each saving is proportional to the share of what becomes cheaper: the
analysis of Zambre et al. (ICPP 2019), section 7. Its "speedup" of a whole is the part of the time that is saved.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from labkit.errors import SpecError
from labkit.models.breakdown import Breakdown, Time, combine, of_paper
from labkit.read.reference import Paper

STEPS = (10, 30, 50, 70, 90)  # %, of the paper's Figure 17


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that becomes cheaper.

    Parameters
    ----------
    text : what it is: ``integrated NIC``.
    parts : names of the parts that become cheaper; those that a whole does not have change nothing.
    cheaper : by how much, %; below 0 they become dearer.

    Raises
    ------
    SpecError
        If more than everything would be saved.
    """

    text: str
    parts: tuple[str, ...]
    cheaper: float

    def __post_init__(self) -> None:
        if not self.cheaper <= 100:
            raise SpecError(f"{self.text}: {self.cheaper} % cheaper, but it must be at most 100 %.")


def to(text: str, breakdown: Breakdown, name: str, time: float) -> Change:
    """Return the change that brings each part of a name to a time, in the breakdown's unit.

    Raises
    ------
    SpecError
        If there is no such part, or the time is negative.
    """
    if time < 0:
        raise SpecError(f"{text}: {time} {breakdown.unit}, but a part takes at least 0.")
    now = breakdown.named([name])[0].time.value
    if now <= 0:
        raise SpecError(f"{text}: {name} takes {now} {breakdown.unit} now, so it has no share to reduce.")
    return Change(text=text, parts=(name,), cheaper=100 * (1 - time / now))


def after(breakdown: Breakdown, *changes: Change) -> Time:
    """Return the whole after all changes. Two changes of one part follow one another: 50 % and 50 % leave a quarter."""
    left: dict[str, float] = {}
    for change in changes:
        for name in set(change.parts):
            left[name] = left.get(name, 1.0) * (1 - change.cheaper / 100)
    factors = [left.get(part.name, 1.0) for part in breakdown.parts]
    return combine(
        lambda *times: math.fsum(time * factor for time, factor in zip(times, factors, strict=True)),
        *(part.time for part in breakdown.parts),
    )


def saved(breakdown: Breakdown, *changes: Change) -> Time:
    """Return the part of the whole that changes save, %, with its interval over launches."""
    return combine(lambda now, then: 100 * (now - then) / now, breakdown.whole, after(breakdown, *changes))


def saving(breakdown: Breakdown, parts: Collection[str], cheaper: float) -> float:
    """Return the saved share of the whole, %, if the named parts become cheaper by so many per cent.

    Parameters
    ----------
    parts : names; one that the whole does not have saves nothing.
    """
    return saved(breakdown, Change(text=", ".join(parts), parts=tuple(parts), cheaper=cheaper)).value


def published(paper: Paper, total: str, parts: Iterable[str], cheaper: float) -> float:
    """Return the part of a published sum, %, that is saved if some of its parts become cheaper.

    Parameters
    ----------
    total, parts : names of numbers of the paper; a part that is itself a sum represents its own parts.
    cheaper : by how much, %.
    """
    return saving(of_paper(paper, total), {leaf.name for leaf in paper.leaves(parts)}, cheaper)


def faster(share: float) -> float:
    """Return how many times as fast a whole is after a share of it, %, is saved: Amdahl's law.

    Examples
    --------
    >>> faster(50)
    2.0
    """
    return float("inf") if share >= 100 else 100 / (100 - share)


def curves(
    breakdown: Breakdown, groups: Mapping[str, Collection[str]], steps: Collection[float] = STEPS
) -> dict[str, list[tuple[float, Time]]]:
    """Return for each group of parts what is saved, %, at each reduction, %.

    Parameters
    ----------
    groups : text → names of parts.
    """
    return {
        text: [(step, saved(breakdown, Change(text=text, parts=tuple(names), cheaper=step))) for step in steps]
        for text, names in groups.items()
    }
