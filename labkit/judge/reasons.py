"""Reasons why two levels of a factor differ: rules over records and counters, each with its evidence and confidence.

A rule gives a reason only where the data speak for it. Without evidence there is none, however likely it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labkit.judge.contrast import Contrast
from labkit.point.units import format_size
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, INTERFACE_B

Confidence = Literal["counted", "calculated", "likely"]
_QUIET = 0.1  # of the payload: what interfaces carry of other traffic meanwhile


@dataclass(frozen=True)
class Reason:
    """Why one level is slower than another.

    Parameters
    ----------
    cause : in words.
    evidence : what the data show.
    confidence : ``counted`` by the system, ``calculated`` from the values, or ``likely``: the conditions differ in it.
    """

    cause: str
    evidence: str
    confidence: Confidence

    @property
    def sentence(self) -> str:
        """The reason in a sentence that says how sure it is."""
        if self.confidence == "likely":
            return f"Likely reason: {self.cause} ({self.evidence})."
        return f"Reason: {self.cause} ({self.confidence}: {self.evidence})."


def reason_for(one: Contrast, points: Sequence[Samples]) -> Reason | None:
    """Return the first reason that the data speak for; None if there is none, or the levels do not differ surely.

    Parameters
    ----------
    one : the two levels.
    points : samples of the campaign; their values may be left out.
    """
    if not one.main.effect.claimed:
        return None
    return next((reason for rule in RULES if (reason := rule(one, points))), None)


def network(one: Contrast, points: Sequence[Samples]) -> Reason | None:
    """One path goes through a network interface, and the other one does not: the interfaces count their bytes."""
    good, bad = (_of(row, points) for row in one.main.rows)
    if one.factor != "transport" or not good or not bad or not all(INTERFACE_B.of(p.meta) for p in (*good, *bad)):
        return None
    quiet, busy = _carried(good), _carried(bad)
    other, samples = (int(row["n"]) for row in one.main.rows)
    if not one.main.size or not samples or busy < samples * one.main.size or quiet > _QUIET * other * one.main.size:
        return None
    evidence = (
        f"network interfaces received {busy:,} B while {samples:,} iterations of {format_size(one.main.size)} were "
        f"timed, and {quiet:,} B during {other:,} on the other path"
    )
    return Reason("each message passes the network stack of the kernel", evidence, "counted")


def crowded(one: Contrast, points: Sequence[Samples]) -> Reason | None:
    """Ranks share processors at the slower level only: badges of its launches say so."""
    return _noted(one, "oversubscription", "its ranks share processors", slow=True)


def cached(one: Contrast, points: Sequence[Samples]) -> Reason | None:
    """The page cache may answer at the faster level only: badges of its launches say so."""
    return _noted(one, "page-cache", "the faster one may end in the page cache, not on the device", slow=False)


RULES: tuple[Callable[[Contrast, Sequence[Samples]], Reason | None], ...] = (network, crowded, cached)


def _noted(one: Contrast, code: str, cause: str, *, slow: bool) -> Reason | None:
    good, bad = ([note for note in row["badges"] if note.code == code] for row in one.main.rows)
    here, there = (bad, good) if slow else (good, bad)
    return Reason(cause, f"badge on one side only: {here[0].text}", "likely") if here and not there else None


def _of(row: Mapping[str, Any], points: Sequence[Samples]) -> list[Samples]:
    """Return the launches of a point."""
    return [one for one in points if FINGERPRINT.of(one.meta) == row["fingerprint"]]


def _carried(points: Sequence[Samples]) -> int:
    """Return what network interfaces received during points, B."""
    return sum(sum(INTERFACE_B.of(one.meta).values()) for one in points)
