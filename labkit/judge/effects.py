"""Decide whether a sentence may claim that two values differ, or that a part makes up a whole.

`labkit.judge.comparison.judging` decides from the launches. If they decide nothing, as a single launch does, there is
no claim. A part never exceeds its whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labkit.judge.comparison.judging import BETWEEN, PAIRED, SAME, Judgement, Launches, Pair, judge
from labkit.models.breakdown import Breakdown, Time
from labkit.point.columns import METRICS
from labkit.point.notes import Note
from labkit.point.units import format_number, format_share, plural
from labkit.read.records import launches_of, value_of
from labkit.stats.decision import OPEN, RELEVANT, TOO_FEW, beyond_limit
from labkit.stats.shift import least_launches

DISTURBED = ("busy-machine", "oversubscription", "stolen-time")  # badges: something else took processor time
SESSIONS = "they were measured at different times, and the machine may have changed in between"
LATER = "but both were measured at different times, so the machine may have changed"  # what such a claim ends with
UNCLAIMED = {SAME: f"they differ by less than {format_share(RELEVANT)}", BETWEEN: SESSIONS}  # verdict → why
_TIME = "latency_us"  # metric of times of breakdowns, whose unit does not matter


@dataclass(frozen=True)
class Measured:
    """A value with the data that decide whether a claim may use it.

    Parameters
    ----------
    value : NaN if unknown.
    launches : its value in each launch; empty for a number without launches.
    starts : when these started, ISO 8601; empty if unknown.
    placed : session of the schedule in which each ran; empty without a schedule.
    statistic : values of different statistics are never compared.
    metric : as in `labkit.point.columns.METRICS`.
    """

    value: float
    launches: Sequence[float] = ()
    starts: Sequence[str] = ()
    statistic: str = ""
    metric: str = _TIME
    placed: Sequence[str] = ()

    @cached_property
    def side(self) -> Launches:
        """The launches as a side of a comparison."""
        return Launches(self.launches, self.starts, placed=self.placed)

    @cached_property
    def sign(self) -> int:
        """1 if the median over launches, or sessions, is surely above zero, -1 if surely below, else 0."""
        if not math.isfinite(self.value):
            return 0
        return {"above": 1, "below": -1, "cannot say": 0}[beyond_limit([self.side.units], [0.0])[0]]


def of_row(row: Mapping[str, Any], metric: str, statistic: str = "") -> Measured:
    """Return a metric of a summary row."""
    value = value_of(row, metric, statistic)
    if value.coarse or not value.statistic:
        return Measured(math.nan, statistic=value.statistic, metric=metric)
    launches, starts, placed = launches_of(row, metric, value.statistic)
    found = Measured(value.value, launches.tolist(), starts, value.statistic, metric, placed)
    same = any(
        math.isclose(float(np.median(some)), value.value, rel_tol=1e-9, abs_tol=1e-300)
        for some in (launches, found.side.units)
        if len(some)
    )
    lacking = len(launches) < row.get("launches", 1)  # the summary parts all launches into sessions, not these alone
    assert same or lacking, f"{metric}: the row has {value.value}, its launches {launches}; see records.standing_for"
    return found


def of_time(time: Time) -> Measured:
    """Return a time of a breakdown."""
    return Measured(time.value, time.launches)


def founded(row: Mapping[str, Any]) -> bool:
    """Whether a sentence may state a value of a summary row: it has several launches, or the machine was idle."""
    return bool(row.get("launches", 1) > 1 or not disturbed(row.get("badges", ())))


def disturbed(badges: Iterable[Note]) -> bool:
    """Whether a badge reports that other programs took processor time."""
    return any(note.code in DISTURBED for note in badges)


def needed(tests: int, *, paired: bool = False) -> str:
    """Return how many launches so many comparisons need at least, as a clause.

    Parameters
    ----------
    tests : number of comparisons.
    paired : whether differences within sessions decide.

    Examples
    --------
    >>> needed(30)
    '30 comparisons need at least 7 launches on each side'
    >>> needed(1, paired=True)
    'a comparison needs at least 6 launches'
    """
    sides = "" if paired else " on each side"
    what = "a comparison needs" if tests < 2 else f"{plural(tests, 'comparison')} need"
    return f"{what} at least {plural(least_launches(max(tests, 1), paired=paired), 'launch')}{sides}"


@dataclass(frozen=True)
class Effect:
    """One value against another.

    Parameters
    ----------
    value, base : the compared values.
    tests : size of the family: pairs of values that the sentence could have compared, such as all pairs of levels of a
        factor if it names the best and the worst.
    """

    value: Measured
    base: Measured
    tests: int = 1

    @property
    def ratio(self) -> float:
        """Value divided by base; NaN if either is unknown or not above zero."""
        known = all(math.isfinite(one.value) and one.value > 0 for one in (self.value, self.base))
        return self.value.value / self.base.value if known else math.nan

    @cached_property
    def judgement(self) -> Judgement:
        """What the launches say."""
        return judge([Pair(self.base.side, self.value.side, self.value.metric)], tests=self.tests)[0]

    @property
    def doubt(self) -> str:
        """Why no difference may be claimed; empty if one may."""
        if math.isnan(self.ratio):
            return "a value is missing or zero"
        if self.value.statistic != self.base.statistic:
            return f"one value is a {self.value.statistic}, the other a {self.base.statistic}"
        if self.judgement.reason:
            return self.judgement.reason
        if self.same and METRICS[self.value.metric].kind in ("share", "loss"):
            return f"they differ by less than {100 * RELEVANT:g} percentage points"
        return UNCLAIMED.get(self.judgement.verdict, "")

    @property
    def same(self) -> bool:
        """Whether the launches show that the values are the same within the relevant difference."""
        return not math.isnan(self.ratio) and self.judgement.verdict == SAME

    @property
    def claimed(self) -> bool:
        """Whether a difference may be claimed."""
        return not self.doubt

    @property
    def more(self) -> bool:
        """Whether the value may be claimed to be above the base."""
        return self.claimed and self.judgement.shift > 0

    @property
    def less(self) -> bool:
        """Whether the value may be claimed to be below the base."""
        return self.claimed and self.judgement.shift < 0

    @property
    def times(self) -> str:
        """The ratio in words: ``36 times``."""
        return f"{format_number(self.ratio, digits=3)} times"

    @property
    def added(self) -> float:
        """The value less the base."""
        return self.value.value - self.base.value

    def change(self, unit: str) -> str:
        """Return the difference in words: ``adds 3 µs``."""
        return f"{'adds' if self.added > 0 else 'takes off'} {format_number(abs(self.added), unit, digits=3)}"

    @property
    def apart(self) -> bool:
        """Whether the values differ, but no claim is possible because they were measured one after the other."""
        return self.doubt == SESSIONS

    @property
    def why(self) -> str:
        """The reason against a claim, as the end of a sentence with both values."""
        launches = min(len(one.launches) for one in (self.value, self.base))
        if not launches or self.doubt not in (TOO_FEW, OPEN):
            return f"no difference is claimed, because {self.doubt}"
        if launches == 1:
            return "a single launch decides nothing"
        if self.doubt == TOO_FEW:
            return f"no difference is claimed, because {needed(self.tests, paired=self.judgement.basis == PAIRED)}"
        return f"the launches do not decide ({plural(launches, 'launch')}, {plural(self.tests, 'comparison')})"

    def said(self, claim: str, values: str) -> str:
        """Return the claim, with a reservation if necessary, or the values and the reason against a claim.

        Parameters
        ----------
        claim : how the values differ.
        values : a clause that states both values.

        Examples
        --------
        >>> fast, slow = Measured(2.0, [1.9, 2.0, 2.0, 2.1]), Measured(4.0, [3.9, 4.0, 4.0, 4.1])
        >>> Effect(slow, fast).said("tcp takes 2 times as long", "tcp takes 4 µs, shm 2 µs")
        'tcp takes 2 times as long.'
        >>> Effect(Measured(4.0, [4.0]), Measured(2.0, [2.0])).said("tcp takes 2 times as long", "tcp takes 4, shm 2")
        'tcp takes 4, shm 2; a single launch decides nothing.'
        """
        if self.apart:
            return f"{claim}, {LATER}."
        return f"{values}; {self.why}." if self.doubt else f"{claim}."

    def clause(self, claim: str) -> str:
        """Return the claim as the end of a sentence; empty if no difference may be claimed.

        Examples
        --------
        >>> Effect(Measured(4.0, [3.9, 4.0, 4.0, 4.1]), Measured(2.0, [1.9, 2.0, 2.0, 2.1])).clause("2 times TCP")
        ', 2 times TCP'
        >>> Effect(Measured(4.0, [4.0]), Measured(2.0, [2.0])).clause("2 times TCP")
        ''
        """
        return "" if self.doubt else f", {claim}"


def between(
    row: Mapping[str, Any], base: Mapping[str, Any], metric: str, statistic: str = "", *, tests: int = 1
) -> Effect:
    """Return the effect between two summary rows.

    Parameters
    ----------
    tests : as in `Effect`.
    """
    return Effect(of_row(row, metric, statistic), of_row(base, metric, statistic), tests)


def pairs(levels: int) -> int:
    """Return the number of pairs of levels: the family of a sentence on the best and the worst level."""
    return max(1, math.comb(levels, 2))


def between_times(time: Time, base: Time, *, tests: int = 1) -> Effect:
    """Return the effect between two times of breakdowns.

    Parameters
    ----------
    tests : as in `Effect`.
    """
    return Effect(of_time(time), of_time(base), tests)


def is_part(part: float, whole: float) -> bool:
    """Whether a number can be a part of another one: between zero and that number."""
    return math.isfinite(part) and math.isfinite(whole) and 0 <= part <= whole and whole > 0


def share(part: float, whole: float) -> str:
    """Return the share of a part in a whole: ``34 %``; empty if it cannot be its part.

    Examples
    --------
    >>> share(1.0, 4.0), share(5.0, 4.0), share(-1.0, 4.0)
    ('25 %', '', '')
    """
    return format_share(part / whole) if is_part(part, whole) else ""


def stated_share(row: Mapping[str, Any], metric: str) -> str:
    """Return a share of a summary row in %; empty without one, or if it comes from one launch on a busy machine."""
    return share(of_row(row, metric).value, 100) if founded(row) else ""


def bounded(whole: Breakdown) -> bool:
    """Whether a breakdown takes time, and no part exceeds the whole in absolute value."""
    total = whole.whole
    return all(each > 0 for each in total.launches) and all(
        is_part(abs(part.time.value), total.value) for part in whole.parts
    )


def adds_up(whole: Breakdown) -> bool:
    """Whether a breakdown is `bounded` and has no negative part, so that its shares are valid."""
    return bounded(whole) and all(part.time.value >= 0 for part in whole.parts)
