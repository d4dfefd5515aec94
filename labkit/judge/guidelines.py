"""Self-consistent performance guidelines: no collective should be slower than others that do the same work.

A program could always use the right side instead of the left. If the left side is slower, the library has a better
algorithm than the one it chose. A guideline is a line of `GUIDELINES`.

The launches decide whether the left side is slower (`labkit.judge.comparison.judging`). Times of several collectives on
the right side are added launch by launch. The family is all sizes of one guideline in one context. The test is
one-sided, because a faster left side is not a violation.

References
----------
.. [1] J. L. Träff, W. D. Gropp, R. Thakur, Self-consistent MPI performance guidelines, IEEE TPDS 21 (5), 2010,
   doi 10.1109/TPDS.2009.120.
.. [2] S. Hunold, A. Carpen-Amarie, F. D. Lübbe, J. L. Träff, PGMPI: Verifying self-consistent MPI performance
   guidelines, arXiv 1606.00215.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from labkit.errors import DataError
from labkit.judge import effects
from labkit.judge.comparison.judging import SLOWER, Launches, Pair, judge
from labkit.point.units import format_size
from labkit.read.records import KEY, headline_statistic, launches_of
from labkit.read.records.factors import distinct, together
from labkit.read.records.launch_values import COLUMN
from labkit.stats.decision import enough

Factor = Callable[[int], Fraction]


def _same(ranks: int) -> Fraction:
    return Fraction(1)


def _all(ranks: int) -> Fraction:
    return Fraction(ranks)


def _part(ranks: int) -> Fraction:
    return Fraction(1, ranks)


_FACTORS = {"": _same, "p": _all, "1/p": _part}


@dataclass(frozen=True)
class Guideline:
    """A collective and its replacement.

    Parameters
    ----------
    left : name of the collective without its family; its size is m.
    right : names with the sizes for the same work: ``bcast`` at m, ``bcast p`` at m times the ranks,
        ``allgather 1/p`` at m over the ranks.
    """

    left: str
    right: tuple[str, ...]

    @property
    def parts(self) -> list[tuple[str, Factor]]:
        """Benchmarks of the right side and the factors of their sizes."""
        split = [part.partition(" ") for part in self.right]
        return [(f"mpi.{name}", _FACTORS[factor]) for name, _, factor in split]

    def __str__(self) -> str:
        sizes = {"": "m", "p": "p·m", "1/p": "m/p"}
        sides = [f"{name}({sizes[factor]})" for name, _, factor in (part.partition(" ") for part in self.right)]
        return f"{self.left}(m) ≤ {' + '.join(sides)}"


# the size is one rank's message in allgather, alltoall, gather, scatter and reduce_scatter_block, else the whole vector
GUIDELINES = (
    Guideline("allreduce", ("reduce", "bcast")),
    Guideline("allreduce", ("reduce_scatter_block 1/p", "allgather 1/p")),
    Guideline("allreduce", ("reduce_scatter", "allgather 1/p")),
    Guideline("reduce", ("allreduce",)),
    Guideline("reduce", ("reduce_scatter_block 1/p", "gather 1/p")),
    Guideline("reduce", ("reduce_scatter", "gather 1/p")),
    Guideline("bcast", ("scatter 1/p", "allgather 1/p")),
    Guideline("gather", ("allgather",)),
    Guideline("gather", ("gatherv",)),
    Guideline("gather", ("reduce p",)),
    Guideline("scatter", ("bcast p",)),
    Guideline("scatter", ("scatterv",)),
    Guideline("allgather", ("alltoall",)),
    Guideline("allgather", ("gather", "bcast p")),
    Guideline("allgather", ("allgatherv",)),
    Guideline("allgather", ("allreduce p",)),
    Guideline("alltoall", ("alltoallv",)),
    Guideline("reduce_scatter", ("allreduce",)),
    Guideline("reduce_scatter", ("reduce", "scatterv 1/p")),
    Guideline("reduce_scatter_block", ("allreduce p",)),
    Guideline("reduce_scatter_block", ("reduce p", "scatter")),
    Guideline("reduce_scatter_block", ("reduce_scatter p",)),
    Guideline("scan", ("exscan", "reduce_local")),
)
MONOTONE = tuple(
    dict.fromkeys([g.left for g in GUIDELINES] + ["exscan", "allgatherv", "alltoallv", "gatherv", "scatterv"])
)
LARGER = " for m < m'"  # end of a guideline that compares sizes
# what must be the same on both sides
_CONTEXT = [
    "ranks",
    "ppn",
    "transport",
    "launcher",
    "testbed",
    "library",
    "engine",
    "origin",
    "timing",
    "cadence",
    "host",
    "cpu_model",
    "campaign",
]
_TIME = "latency_us"


@dataclass(frozen=True)
class Violation:
    """A collective that takes longer than its replacement, by the medians over launches.

    Parameters
    ----------
    guideline : in words.
    fingerprint : fingerprint of the left point.
    left, right : times of both sides, µs.
    instead : right side with its sizes, in words.
    doubt : reason why the launches do not show it; empty if they do.
    """

    guideline: str
    fingerprint: str
    left: float
    right: float
    instead: str
    doubt: str

    @property
    def ratio(self) -> float:
        """Left over right."""
        return self.left / self.right


@dataclass(frozen=True)
class Compared:
    """Result of the comparisons.

    Parameters
    ----------
    violations : first those that the launches show, sorted by ratio, the worst first.
    checked : number of comparisons.
    unchecked : guideline → why it could not be compared at any size.
    """

    violations: tuple[Violation, ...]
    checked: int
    unchecked: Mapping[str, str]


def compare(summary: pd.DataFrame, *, able: bool = False) -> Compared:
    """Compare collectives with their replacements, and every size with larger ones.

    Parameters
    ----------
    summary : a row per point. Points are compared if they have the same ranks, path, library, cadence, host and common
        options. If several points of a benchmark fit the right side, the slowest counts.
    able : whether to leave out families in which no point has enough launches to show a violation.

    Raises
    ------
    DataError
        If the table has no latency of a collective.
    """
    names = {f"mpi.{name}" for g in GUIDELINES for name in (g.left, *(part.split()[0] for part in g.right))}
    latencies = summary[summary["benchmark"].isin(names)]
    if latencies.empty or not {"latency_us_p50", "latency_us_mean"} & set(latencies):
        raise DataError("The table has no latency of a collective. Measure mpi.allreduce, mpi.bcast and others first.")
    found: list[Violation] = []
    checked, missing = 0, {}
    context = together(*(distinct(latencies[name])[0] for name in _CONTEXT))
    groups = [_Points(latencies[context == code]) for code in range(context.max() + 1)]
    for guideline in GUIDELINES:
        before = checked
        for points in groups:
            compared = [*_compared(guideline, points)]
            checked += len(compared)
            found += points.violations(str(guideline), compared, able)
        if checked == before:
            missing[str(guideline)] = _why_not(guideline, groups)
    for name in MONOTONE:
        for points in groups:
            compared = [(left, [fastest]) for left, fastest in _monotone(f"mpi.{name}", points)]
            checked += len(compared)
            found += points.violations(f"{name}(m) ≤ {name}(m'){LARGER}", compared, able)
    found.sort(key=lambda one: (bool(one.doubt), -one.ratio))
    return Compared(tuple(found), checked, missing)


class _Points:
    """Points of one context as columns, without those that have no latency.

    Parameters
    ----------
    rows : rows of the summary.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        self.statistic = headline_statistic(rows, _TIME)
        centre = f"{_TIME}_{self.statistic}"
        rows = rows[rows[centre].notna()]
        self._columns = {name: rows[name].tolist() for name in (*KEY, COLUMN) if name in rows}
        self.fingerprints: list[str] = rows["fingerprint"].tolist()
        self.benchmarks: list[str] = rows["benchmark"].tolist()
        self.sizes: list[int] = rows["message_size_B"].tolist()
        self.ranks: list[int] = rows["ranks"].tolist()
        self.options: list[str] = rows["options"].tolist()
        self.launches: list[int] = rows["launches"].tolist()
        self.centres: list[float] = rows[centre].tolist()
        self.places: dict[tuple[str, int], dict[str, int]] = {}
        for place, (name, size, text) in enumerate(zip(self.benchmarks, self.sizes, self.options, strict=True)):
            same = self.places.setdefault((name, size), {})  # of equal options, the slowest counts
            if text not in same or self.centres[place] > self.centres[same[text]]:
                same[text] = place
        self.of: dict[str, list[int]] = {}
        for place, name in enumerate(self.benchmarks):
            self.of.setdefault(name, []).append(place)

    def slowest(self, name: str, size: Fraction, options: str) -> int | None:
        """Return the slowest point of a benchmark and size with options that fit; None if there is none."""
        same = self.places.get((name, int(size)), {}) if size.denominator == 1 else {}
        fitting = [place for text, place in same.items() if _fits(options, text)]
        return max(fitting, key=lambda place: (self.centres[place], -place), default=None)

    def violations(
        self, guideline: str, compared: Sequence[tuple[int, Sequence[int]]], able: bool
    ) -> Iterator[Violation]:
        """Yield the comparisons where the left side takes longer; all comparisons are one family."""
        longer = [one for one in compared if self.centres[one[0]] > self._total(one[1]) > 0]
        counts = {(self.launches[left], min(self.launches[place] for place in right)) for left, right in longer}
        if able and not any(enough(*sides, len(compared), larger=True) for sides in counts):
            return
        pairs = [Pair(self._launches(right), self._launches([left]), _TIME) for left, right in longer]
        for (left, right), judged in zip(longer, judge(pairs, tests=len(compared), larger=True), strict=True):
            parts = (
                f"{self.benchmarks[place].removeprefix('mpi.')} at {format_size(self.sizes[place])}" for place in right
            )
            yield Violation(
                guideline,
                self.fingerprints[left],
                self.centres[left],
                self._total(right),
                " + ".join(parts),
                "" if judged.verdict == SLOWER else judged.reason or effects.UNCLAIMED.get(judged.verdict, ""),
            )

    def _total(self, places: Iterable[int]) -> float:
        return sum(self.centres[place] for place in places)

    def _launches(self, places: Sequence[int]) -> Launches:
        """Return the sum of points in each launch; the first one says when it started, and in which session."""
        each = [
            launches_of({name: values[place] for name, values in self._columns.items()}, _TIME, self.statistic)
            for place in places
        ]
        count = min(len(values) for values, _, _ in each)
        total = np.sum([values[:count] for values, _, _ in each], axis=0)
        return Launches(total.tolist(), each[0][1][:count], placed=each[0][2][:count])


@cache
def _fits(options: str, others: str) -> bool:
    """Return whether the options that both have are the same."""
    first, second = _parsed(options), _parsed(others)
    return all(second.get(name, value) == value for name, value in first.items())


@cache
def _parsed(options: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(options or "{}")
    return parsed


@cache
def _key(options: str) -> object:
    """Return what is equal for equal options."""
    return frozenset(
        (name, str(one) if isinstance(one, list | dict) else one) for name, one in _parsed(options).items()
    )


def _compared(guideline: Guideline, points: _Points) -> Iterator[tuple[int, list[int]]]:
    """Yield each point of the left side with its right side, if that was measured."""
    if any(name not in points.of for name, _ in guideline.parts):
        return
    for left in points.of.get(f"mpi.{guideline.left}", ()):
        chosen = []
        for name, factor in guideline.parts:
            size = factor(points.ranks[left]) * points.sizes[left]
            if (place := points.slowest(name, size, points.options[left])) is None:
                break
            chosen.append(place)
        else:
            yield left, chosen


def _monotone(benchmark: str, points: _Points) -> Iterator[tuple[int, int]]:
    """Yield each point with the fastest of a larger size and the same options."""
    series: dict[object, list[int]] = {}
    for place in points.of.get(benchmark, ()):
        series.setdefault(_key(points.options[place]), []).append(place)
    fastest: dict[int, int] = {}
    for places in series.values():
        falling = sorted(places, key=lambda place: -points.sizes[place])
        best: int | None = None
        for _, same in groupby(falling, key=lambda place: points.sizes[place]):
            some = [*same]
            if best is not None:
                fastest |= dict.fromkeys(some, best)
                some.append(best)
            best = min(some, key=lambda place: (points.centres[place], place))
    yield from sorted(fastest.items())


def _why_not(guideline: Guideline, groups: Sequence[_Points]) -> str:
    """Why a guideline could not be checked at any size."""
    wanted = [f"mpi.{guideline.left}", *(name for name, _ in guideline.parts)]
    if absent := [name for name in dict.fromkeys(wanted) if not any(name in points.of for points in groups)]:
        return f"not measured: {', '.join(absent)}"
    for points in groups:
        for left in points.of.get(wanted[0], ()):
            for name, factor in guideline.parts:
                size = factor(points.ranks[left]) * points.sizes[left]
                if size.denominator > 1:
                    return (
                        f"{points.sizes[left]} B do not divide among {points.ranks[left]} ranks, nor do other sizes fit"
                    )
                if (name, int(size)) not in points.places:
                    return f"{name} was not measured at {size} B, nor at what other sizes need"
    return "measured with different options, or on different systems"
