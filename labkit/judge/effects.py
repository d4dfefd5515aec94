"""Whether a sentence may say that two values differ, or that a part makes up a whole: the one guard of all findings.

An effect is claimed if its interval excludes zero. A single launch has no interval: it counts if the machine was quiet,
and the sentence states *one launch*. A part never exceeds its whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.models.breakdown import Breakdown, Time
from labkit.point.notes import Note
from labkit.point.units import format_number, format_share
from labkit.read.records import value_of

DISTURBED = ("busy-machine", "oversubscription", "stolen-time")  # badges: something else took processor time
LEAST = 0.005  # of the base: a smaller difference rounds to none
ALONE = ", one launch each"  # ends a claim without interval


@dataclass(frozen=True)
class Measured:
    """A value with what decides whether a claim may rest on it.

    Parameters
    ----------
    value : NaN if it is not known.
    low, high : ends of its interval over launches; NaN where there is none.
    disturbed : whether something else took processor time from a launch of it.
    statistic : which one it is; values of different statistics are never compared.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    disturbed: bool = False
    statistic: str = ""

    @property
    def single(self) -> bool:
        """Whether it has no interval."""
        return math.isnan(self.low) or math.isnan(self.high)

    @property
    def sign(self) -> int:
        """1 if it is surely above zero, -1 if surely below, else 0."""
        low, high = self.ends
        return 1 if low > 0 else -1 if high < 0 else 0

    @property
    def ends(self) -> tuple[float, float]:
        """Between what it surely lies; NaN for one launch on a busy machine."""
        if not math.isfinite(self.value) or (self.single and self.disturbed):
            return math.nan, math.nan
        return (self.value, self.value) if self.single else (self.low, self.high)


def of_row(row: Mapping[str, Any], metric: str, statistic: str = "") -> Measured:
    """Return a metric of a summary row."""
    value = value_of(row, metric, statistic)
    if value.coarse:
        return Measured(math.nan, statistic=value.statistic)
    return Measured(value.value, value.low, value.high, disturbed(row.get("badges", ())), value.statistic)


def of_time(time: Time) -> Measured:
    """Return a time of a breakdown."""
    return Measured(time.value, *time.interval, time.disturbed)


def founded(row: Mapping[str, Any]) -> bool:
    """Whether a claim may rest on a summary row: more than one launch, or a machine that was quiet."""
    return bool(row.get("launches", 1) > 1 or not disturbed(row.get("badges", ())))


def disturbed(badges: Iterable[Note]) -> bool:
    """Whether a badge says that something else took processor time."""
    return any(note.code in DISTURBED for note in badges)


@dataclass(frozen=True)
class Effect:
    """One value against another.

    Parameters
    ----------
    value, base : what is compared, and with what.
    """

    value: Measured
    base: Measured

    @property
    def ratio(self) -> float:
        """The value over the base; NaN if either is not known or not above zero."""
        known = all(math.isfinite(one.value) and one.value > 0 for one in (self.value, self.base))
        return self.value.value / self.base.value if known else math.nan

    @property
    def doubt(self) -> str:
        """Why no difference may be claimed; empty if one may."""
        if math.isnan(self.ratio):
            return "a value is missing or zero"
        if self.value.statistic != self.base.statistic:
            return f"one value is a {self.value.statistic}, the other a {self.base.statistic}"
        if abs(self.ratio - 1) < LEAST:
            return f"they differ by less than {format_share(LEAST)}"
        if self.alone:
            busy = self.value.disturbed or self.base.disturbed
            return "one launch on a busy machine does not show one" if busy else ""
        apart = self.value.low > self.base.high or self.value.high < self.base.low
        return "" if apart else "their intervals overlap"

    @property
    def claimed(self) -> bool:
        """Whether a difference may be claimed."""
        return not self.doubt

    @property
    def more(self) -> bool:
        """Whether the value may be claimed to be above the base."""
        return self.claimed and self.ratio > 1

    @property
    def less(self) -> bool:
        """Whether the value may be claimed to be below the base."""
        return self.claimed and self.ratio < 1

    @property
    def times(self) -> str:
        """How many times the base the value is: ``36 times``."""
        return f"{format_number(self.ratio, digits=3)} times"

    @property
    def added(self) -> Measured:
        """The value less the base; its interval subtracts the far ends."""
        busy = self.value.disturbed or self.base.disturbed
        more = self.value.value - self.base.value
        return Measured(more, self.value.low - self.base.high, self.value.high - self.base.low, busy)

    @property
    def alone(self) -> str:
        """The end of a claim that rests on one launch; empty if both values have intervals."""
        return ALONE if self.value.single or self.base.single else ""

    def change(self, unit: str) -> str:
        """Return what the value adds to the base, or takes off it: ``adds 3 µs``."""
        change = self.added.value
        return f"{'adds' if change > 0 else 'takes off'} {format_number(abs(change), unit, digits=3)}"

    def said(self, claim: str, values: str) -> str:
        """Return the claim with how sure it is, or the values and why no difference is claimed.

        Examples
        --------
        >>> Effect(Measured(4.0, 3.9, 4.1), Measured(2.0, 1.9, 2.1)).said("tcp takes 2 times as long", "tcp and shm")
        'tcp takes 2 times as long.'
        >>> Effect(Measured(2.1, 1.9, 2.3), Measured(2.0, 1.9, 2.1)).said("tcp takes 1.05 times as long", "tcp and shm")
        'tcp and shm: no difference is claimed, because their intervals overlap.'
        """
        if self.doubt:
            return f"{values}: no difference is claimed, because {self.doubt}."
        return f"{claim}{self.alone}."

    def clause(self, claim: str) -> str:
        """Return the claim as the end of a sentence; empty if no difference may be claimed.

        Examples
        --------
        >>> Effect(Measured(4.0), Measured(2.0)).clause("2 times TCP")
        ', 2 times TCP, one launch each'
        >>> Effect(Measured(4.0), Measured(0.0)).clause("2 times TCP")
        ''
        """
        return "" if self.doubt else f", {claim}{self.alone}"


def between(row: Mapping[str, Any], base: Mapping[str, Any], metric: str, statistic: str = "") -> Effect:
    """Return the effect between two summary rows."""
    return Effect(of_row(row, metric, statistic), of_row(base, metric, statistic))


def between_times(time: Time, base: Time) -> Effect:
    """Return the effect between two times of breakdowns."""
    return Effect(of_time(time), of_time(base))


def is_part(part: float, whole: float) -> bool:
    """Whether a number can be a part of another one: from nothing to all of it."""
    return math.isfinite(part) and math.isfinite(whole) and 0 <= part <= whole and whole > 0


def share(part: float, whole: float) -> str:
    """Return the share of a whole that a part takes: ``34 %``; empty where it cannot be its part.

    Examples
    --------
    >>> share(1.0, 4.0), share(5.0, 4.0), share(-1.0, 4.0)
    ('25 %', '', '')
    """
    return format_share(part / whole) if is_part(part, whole) else ""


def stated_share(row: Mapping[str, Any], metric: str) -> str:
    """Return a share that a summary row has in %; empty where it is none, or from one launch on a busy machine."""
    return share(of_row(row, metric).value, 100) if founded(row) else ""


def bounded(whole: Breakdown) -> bool:
    """Whether a breakdown takes time, and no part of it takes, or takes off, more than the whole."""
    total = whole.whole
    return all(each > 0 for each in total.launches) and all(
        is_part(abs(part.time.value), total.value) for part in whole.parts
    )


def adds_up(whole: Breakdown) -> bool:
    """Whether a breakdown is `bounded`, and none of its parts is below zero: its shares are shares."""
    return bounded(whole) and all(part.time.value >= 0 for part in whole.parts)
