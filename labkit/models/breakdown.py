"""A time as the sum of its parts: parts with intervals, differences between paths, and what no part explains.

Parts of one whole are times in one unit that follow one another. Uncertainty is that of launches: a formula is applied
to each launch, and the interval of the results is the interval of the formula's value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from labkit import stats
from labkit.errors import DataError, SpecError, unknown_name
from labkit.point.units import format_number
from labkit.read.reference import Paper
from labkit.stats.decision import beyond_limit

REST = "rest"  # name of the part that nothing explains
UNKNOWN = "not attributed"  # its kind


@dataclass(frozen=True, kw_only=True)
class Time:
    """A time, and its values in single launches.

    Parameters
    ----------
    value : in the unit of its whole; any finite number, because a difference of two paths may be negative.
    launches : value of each launch; empty for a number without launches, such as a published one.
    """

    value: float
    launches: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.value, *self.launches))):
            raise DataError(f"a time is {self.value} with launches {self.launches}, but each must be a finite number.")

    @property
    def positive(self) -> bool:
        """Whether it is surely above 0: a number without launches is what it is."""
        return self.value > 0 and (not self.launches or beyond_limit([self.launches], [0.0]) == ["above"])

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval over launches, which include the value; NaN with fewer than two launches.

        From 6 launches on the 95 % rank interval of the median, below the range: see `labkit.stats.headline`.
        """
        if len(self.launches) < 2:
            return math.nan, math.nan
        ends = stats.headline(self.launches)
        return min(ends.low, self.value), max(ends.high, self.value)

    @property
    def basis(self) -> str:
        """What the interval is: ``95 % interval of 6 launches``; empty without one."""
        return stats.launches_label(len(self.launches)) if len(self.launches) > 1 else ""


def stated(time: Time, unit: str) -> str:
    """Return a time, or a share, with its interval in words.

    Examples
    --------
    >>> stated(Time(value=5.4506), "%"), stated(Time(value=5.4, launches=(5.0, 5.4, 6.0)), "µs")
    ('5.45 %', '5.4 µs (range of 3 launches: 5 to 6)')
    """
    text = f"{format_number(time.value, digits=3)} {unit}"
    if not time.basis:
        return text
    low, high = (format_number(end, digits=3) for end in time.interval)
    return f"{text} ({time.basis}: {low} to {high})"


def of_launches(values: Iterable[float]) -> Time:
    """Return the median over launches with its launches.

    Raises
    ------
    DataError
        If there is no launch.
    """
    launches = tuple(map(float, values))
    return Time(value=stats.headline(launches).centre, launches=launches)


def combine(of: Callable[..., float], *times: Time) -> Time:
    """Apply a formula to times: to their values, and launch by launch.

    Parameters
    ----------
    of : takes one number for each time.
    times : in the order of the formula's arguments. A time without launches is the same in each launch.

    Returns
    -------
    The formula of the values, with one value for each launch that all times with launches have. Values are
    medians, so sums and differences of combined times add up exactly.

    Examples
    --------
    >>> tcp, unix = Time(value=8.0, launches=(7.0, 8.0, 9.0)), Time(value=5.0, launches=(5.0, 4.0, 6.0))
    >>> kernel = combine(lambda a, b: a - b, tcp, unix)
    >>> kernel.value, kernel.interval, kernel.basis
    (3.0, (2.0, 4.0), 'range of 3 launches')
    """
    counts = [len(time.launches) for time in times if time.launches]
    launches: tuple[float, ...] = ()
    if counts:
        columns = [time.launches[: min(counts)] or itertools.repeat(time.value, min(counts)) for time in times]
        launches = tuple(float(of(*row)) for row in zip(*columns, strict=True))
    value = float(of(*(time.value for time in times)))
    return Time(value=value, launches=launches)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a whole.

    Parameters
    ----------
    name : by which what-ifs refer to it; two parts may have the same name, such as a bus that a message crosses twice.
    text : what it is.
    kind : class of the component, such as ``processor``.
    time : time that it takes.
    source : what it was computed from: ``mpi.latency (tcp) - mpi.latency (shm)``, or a table of a paper.
    """

    name: str
    text: str
    kind: str
    time: Time
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """A whole and its parts, in order; no parts overlap.

    Parameters
    ----------
    title : title of the whole.
    unit : unit of all times.
    origin : origin of the parts: ``published``, ``measured`` …
    parts : at least one; their sum is the whole.
    observed : the whole by another measurement, to compare the sum with; None if there is none.

    Raises
    ------
    SpecError
        If there is no part.
    """

    title: str
    unit: str
    origin: str
    parts: tuple[Part, ...]
    observed: Time | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise SpecError(f"{self.title} has no parts, but a breakdown needs at least one. Measure first.")

    @property
    def whole(self) -> Time:
        """Sum of the parts."""
        return self.sum()

    @property
    def names(self) -> list[str]:
        """Names of the parts, each once, in order."""
        return list(dict.fromkeys(part.name for part in self.parts))

    @property
    def off(self) -> float:
        """How far the sum is above what was observed, %; NaN if nothing was."""
        return math.nan if self.observed is None else 100 * (self.whole.value / self.observed.value - 1)

    def named(self, names: Iterable[str]) -> list[Part]:
        """Return the parts of some names, in order.

        Raises
        ------
        SpecError
            If there is no part of a name.
        """
        wanted = set(names)
        for name in sorted(wanted - set(self.names)):
            raise unknown_name("part", name, self.names)
        return [part for part in self.parts if part.name in wanted]

    @property
    def doubtful(self) -> list[str]:
        """Names of parts that are not surely above 0, so that their savings are unknown."""
        return [part.name for part in self.parts if not part.time.positive]

    def sum(self, names: Collection[str] | None = None) -> Time:
        """Return the sum of the parts of some names, or of all parts; a name that is not a part adds nothing."""
        chosen = [part.time for part in self.parts if names is None or part.name in names]
        return combine(lambda *values: math.fsum(values), *chosen) if chosen else Time(value=0.0)

    def share(self, names: Collection[str]) -> Time:
        """Return the share of the whole that the parts of some names take, %."""
        return combine(lambda part, whole: 100 * part / whole, self.sum(names), self.whole)

    def shares(self) -> dict[str, float]:
        """Return the share of every name, %."""
        return {name: self.share([name]).value for name in self.names}


def attributed(title: str, unit: str, whole: Time, parts: Sequence[Part], *, origin: str = "measured") -> Breakdown:
    """Return a measured whole with the parts that explain it, and the remainder as a separate part.

    Parameters
    ----------
    whole : as measured.
    parts : measured apart from the whole; their sum may be less than the whole, or more.
    """
    rest = combine(lambda total, *times: total - math.fsum(times), whole, *(part.time for part in parts))
    left = Part(name=REST, text="not attributed", kind=UNKNOWN, time=rest, source="the whole less all parts")
    return Breakdown(title=title, unit=unit, origin=origin, parts=(*parts, left))


@dataclass(frozen=True, kw_only=True)
class Level:
    """A path that does all that the paths before it do, and more.

    Parameters
    ----------
    name, text, kind : name, text and kind of what it adds to the path before it.
    path : what was measured, such as ``MPI over TCP, C kernel``.
    time : time of the whole path.
    """

    name: str
    text: str
    kind: str
    path: str
    time: Time


def by_difference(title: str, unit: str, levels: Sequence[Level], *, origin: str = "measured") -> Breakdown:
    """Return the longest of nested paths, its parts the differences between neighbours.

    The parts sum to the last path by construction, so the sum does not test them. A negative part means that the path
    before it does something that this one avoids.

    Parameters
    ----------
    levels : the shortest first.
    """
    parts = []
    for before, level in itertools.pairwise([None, *levels]):
        assert level is not None
        time = level.time if before is None else combine(lambda this, other: this - other, level.time, before.time)
        source = level.path if before is None else f"{level.path} less {before.path}"
        parts.append(Part(name=level.name, text=level.text, kind=level.kind, time=time, source=source))
    return Breakdown(title=title, unit=unit, origin=origin, parts=tuple(parts))


def of_paper(paper: Paper, name: str) -> Breakdown:
    """Return a published sum as a breakdown into its smallest parts, with what the paper observed.

    Raises
    ------
    SpecError
        If the paper has no such number.
    """
    number = paper[name]
    parts = [
        Part(name=leaf.name, text=leaf.text, kind=leaf.kind, time=Time(value=leaf.value), source=paper.place(leaf))
        for leaf in paper.leaves([name])
    ]
    observed = Time(value=paper[number.observed].value) if number.observed else None
    return Breakdown(title=number.text, unit=number.unit, origin="published", parts=tuple(parts), observed=observed)
