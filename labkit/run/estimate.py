"""How long points take: at the pace of other points, and at most."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from labkit.point.spec import Effort
from labkit.point.units import format_duration, plural
from labkit.run import schedule
from labkit.run.point import Point

START = 1.5  # s that a start of ranks or of a tool takes at most on an idle machine; a cluster may need longer


@dataclass(frozen=True)
class Estimate:
    """Time that points take.

    Parameters
    ----------
    points : launches of points.
    starts : starts of ranks or of a tool, which serve them.
    cap : longest timed part of a point in a launch, s.
    """

    points: int
    starts: int
    cap: float

    @classmethod
    def of(cls, points: Sequence[Point], effort: Effort) -> Estimate:
        """Estimate for points that are measured with an effort."""
        ordered = sorted(points, key=lambda one: one.launch)
        launches = (list(group) for _, group in groupby(ordered, key=lambda one: one.launch))
        return cls(len(points), sum(len(schedule.starts(each, effort)) for each in launches), effort.time_cap)

    @property
    def most(self) -> float:
        """Longest time on an idle machine, s."""
        return self.points * self.cap + self.starts * START

    @property
    def limit(self) -> str:
        """The longest time, in words."""
        return f"at most about {format_duration(round(self.most, 1))} on an idle machine"

    def about(self, pace: float) -> float:
        """Return the time at a pace, s; never more than `most`.

        Parameters
        ----------
        pace : time of a point without its start, s.
        """
        return min(self.most, self.points * pace + self.starts * START)


def told(points: Sequence[Point], effort: Effort) -> str:
    """Return a sentence with the number of points and launches, and the longest time."""
    return f"{counted(each(points))}, {Estimate.of(points, effort).limit}"


def each(points: Sequence[Point]) -> Collection[int]:
    """Return the launches of each point."""
    return Counter((point.spec.benchmark, point.fingerprint) for point in points).values()


def counted(launches: Collection[int]) -> str:
    """Say how many points there are, and in how many launches each is measured.

    Examples
    --------
    >>> counted([6]), counted([6, 6]), counted([3, 1])
    ('1 point in 6 launches', '2 points, each in 6 launches: 12 measurements', '2 points: 4 measurements')
    """
    points, most = plural(len(launches), "point"), plural(max(launches), "launch")
    if len(launches) == 1:
        return f"{points} in {most}"
    each = f", each in {most}" if len({*launches}) == 1 else ""
    return f"{points}{each}: {plural(sum(launches), 'measurement')}"


def left(elapsed: float, done: int, points: int) -> float:
    """Return the time of the points that are left, at the pace of those that are done, s; NaN before the first."""
    return elapsed / done * max(points, 0) if done else math.nan
