"""Comparison of campaigns, or of the levels of a factor, point by point.

`sides` reads launches, `matching` finds the points that can be compared and the factors that differ, `judging` tests.
Points match by benchmark, size and the factors that sides have in common; fingerprints play no part, because they hold
library and processor. A factor in which the sides differ throughout must be declared: otherwise the numbers would
differ for a reason that nobody named.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from labkit import benchmarks, records
from labkit.analysis.comparison.judging import (
    BETTER,
    BLOCKED,
    FASTER,
    RELEVANT,
    SAME,
    SLOWER,
    UNDECIDED,
    WORSE,
    Judgement,
    Launches,
    Pair,
    drifts,
    judge,
)
from labkit.analysis.comparison.matching import Difference, Point, match, undeclared
from labkit.analysis.comparison.resolved import UNRESOLVED, Resolved, resolved
from labkit.analysis.comparison.sides import Launch, by_levels, known, of_samples, read, restricted
from labkit.columns import METRICS, statistic_column
from labkit.errors import DataError, LabkitError, SpecError
from labkit.notes import joined
from labkit.records.resolution import TICKS, sign
from labkit.stats.binomial import at_least
from labkit.stats.rank_interval import LEVEL
from labkit.stats.shift import holm, least_launches, several_p
from labkit.units import format_number, format_share, format_size, plural

__all__ = ["Compared", "Comparison", "Launch", "by_levels", "compare", "of_samples", "pairwise", "read", "restricted"]


@dataclass(frozen=True)
class Compared:
    """A point on one side, compared with the first side.

    Parameters
    ----------
    benchmark, size : of the point.
    setting : factors in which matched points of this benchmark vary, with their levels.
    side : name of the side; the base is the first.
    metric, statistic : what was compared; each launch gives one value.
    launches : of the base and of the side.
    judgement : test, shift and verdict.
    p_any : of the Kruskal-Wallis test over all sides, by Holm's correction over all points; NaN for two.
    badges : text → how many launches of each side have it, in the order of the sides.
    counts : launches of every side.
    coarse : whether the value of the base, and that of the side, spans fewer than ten steps of the clock.
    """

    benchmark: str
    size: int
    setting: Mapping[str, str]
    side: str
    metric: str
    statistic: str
    launches: tuple[int, int]
    judgement: Judgement
    p_any: float
    badges: Mapping[str, tuple[int, ...]]
    counts: tuple[int, ...]
    coarse: tuple[bool, bool] = (False, False)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values without their unit, with ``≥`` or ``≤`` where they are bounds."""
        width = self.judgement.shift_high - self.judgement.shift_low
        before = [sign(METRICS[self.metric].unit) if bound else "" for bound in self.coarse]
        base, value = (format_number(one, width=width) for one in (self.judgement.base, self.judgement.value))
        return before[0] + base, before[1] + value


@dataclass(frozen=True)
class Comparison:
    """Points of several sides, judged.

    Parameters
    ----------
    sides : names; the first is the base.
    by : what the sides are: ``campaign`` or a factor.
    rows : a row per point and side but the first.
    differences : factors that differ throughout.
    unmatched : points that not all sides have, each with the sides that have it.
    warnings : what a reader must know.
    relevant : smallest difference that matters.
    forced : whether factors differ that were not declared.
    """

    sides: tuple[str, ...]
    by: str
    rows: tuple[Compared, ...]
    differences: tuple[Difference, ...]
    unmatched: tuple[tuple[str, tuple[str, ...]], ...]
    warnings: tuple[str, ...]
    relevant: float = RELEVANT
    forced: bool = False

    @property
    def sentence(self) -> str:
        """How many points are faster, slower, the same or undecided, in words."""
        counts = Counter(one.judgement.verdict for one in self.rows)
        parts = [f"{counts[word]} {word}" for word in (SLOWER, WORSE, FASTER, BETTER) if counts[word]]
        parts += [f"{counts[SAME]} the same within {format_share(self.relevant)}"] if counts[SAME] else []
        parts += [f"{counts[UNDECIDED]} with not enough data"] if counts[UNDECIDED] else []
        designs = Counter(one.judgement.design for one in self.rows)
        order = ", ".join(f"{name} {n}" for name, n in designs.items()) if len(designs) > 1 else next(iter(designs))
        what = f"{', '.join(self.sides[1:])} against {self.sides[0]}"
        count = plural(len(self.rows), "comparison")
        return f"{count} of {what}: {', '.join(parts)}. Order of launches: {order}."


def compare(
    sides: Mapping[str, Sequence[Launch]],
    *,
    by: str = "campaign",
    allow: Collection[str] = (),
    metric: str = "",
    relevant: float = RELEVANT,
    force: bool = False,
) -> Comparison:
    """Compare sides point by point; the first is the base.

    Parameters
    ----------
    sides : name → its launches, two or more.
    by : what the sides are.
    allow : factors that may differ between sides.
    metric : to compare (default: the first of each benchmark that all sides have).
    relevant : smallest difference that matters, as a part of the value.
    force : compare even if factors differ that are not in `allow`; the result says so.

    Raises
    ------
    SpecError
        If factors differ that were not declared, or a point mixes several levels of a declared one.
    DataError
        If no point can be compared.
    """
    known(allow, [one for launches in sides.values() for one in launches], "--allow")
    matched = match(sides, by=by, allow=allow)
    hidden = [one for one in matched.differences if not one.declared]
    if hidden and not force:
        raise undeclared(hidden, tuple(sides))
    if matched.problem:
        raise SpecError(matched.problem)
    if not matched.points:
        only = joined(f"{label} in {', '.join(names)}" for label, names in matched.unmatched[:5])
        missing = f" There are {len(matched.unmatched)} others: {only}." if only else ""
        raise DataError(f"{', '.join(sides)} have no point in common.{missing} Measure the same points.")
    rows, doubts = _rows(matched.points, tuple(sides), metric, relevant, [one.factor for one in hidden])
    return Comparison(
        sides=tuple(sides),
        by=by,
        rows=rows,
        differences=matched.differences,
        unmatched=matched.unmatched,
        warnings=(*_twice(sides), *doubts, *_definitions(matched.points)),
        relevant=relevant,
        forced=bool(hidden),
    )


def pairwise(sides: Mapping[str, Sequence[Launch]], **how: Any) -> Comparison:
    """Compare each side with the base alone, so that points count that only the two of them have.

    The correction for many comparisons is made for each side by itself.

    Parameters
    ----------
    sides : name → its launches, two or more; the first is the base.
    how : as in `compare`.

    Raises
    ------
    SpecError, DataError
        As `compare` does, if no side can be compared with the base.
    """
    base, *others = sides
    made: list[Comparison] = []
    problem: LabkitError | None = None
    for name in others:
        try:
            made.append(compare({base: sides[base], name: sides[name]}, **how))
        except LabkitError as error:
            problem = problem or error
    if not made:
        raise problem or SpecError("A comparison needs two sides. Name another campaign, or a factor with two levels.")
    return dataclasses.replace(
        made[0],
        sides=(base, *(name for one in made for name in one.sides[1:])),
        rows=tuple(row for one in made for row in one.rows),
        differences=tuple(dict.fromkeys(found for one in made for found in one.differences)),
        unmatched=tuple(dict.fromkeys(found for one in made for found in one.unmatched)),
        warnings=tuple(dict.fromkeys(text for one in made for text in one.warnings)),
        forced=any(one.forced for one in made),
    )


def _rows(
    points: Sequence[Point], sides: Sequence[str], metric: str, relevant: float, hidden: Sequence[str]
) -> tuple[tuple[Compared, ...], list[str]]:
    """Judge the points, and say which cannot be."""
    chosen = [_statistic(point, metric) for point in points]
    without = [
        f"{one.benchmark} {format_size(one.size)}" for one, names in zip(points, chosen, strict=True) if names is None
    ]
    testable = [(one, names) for one, names in zip(points, chosen, strict=True) if names is not None]
    values = [[_launches(launches, *names) for launches in one.sides] for one, names in testable]
    several = [several_p([one.values for one in each]) if len(each) > 2 else math.nan for each in values]
    pairs: list[Pair] = []
    make: list[Callable[[Judgement], Compared]] = []
    for (point, names), each, p_any in zip(testable, values, holm(several), strict=True):
        badges, counts = _badges(point), tuple(map(len, point.sides))
        if hidden:
            badges[f"not comparable: {', '.join(hidden)}"] = counts
        by_clock = resolved([[one.row for one in part] for part in point.sides], *names)
        for side, other, clock in zip(sides[1:], each[1:], by_clock, strict=True):
            pairs.append(Pair(each[0], other, names[0]))
            made = _maker(point, side, names, (len(each[0].values), len(other.values)), p_any, badges, counts)
            make.append(partial(_with_bounds, made, clock))
    doubts = (
        [f"{plural(len(without), 'point')} without a statistic that all sides have: {_several(without)}"]
        if without
        else []
    )
    if not pairs:
        wanted = f" of {metric}" if metric else ""
        raise DataError(f"No point has a statistic{wanted} that all sides have. Compare another metric or benchmark.")
    judged = judge(pairs, relevant=relevant)
    rows = tuple(one(judgement) for one, judgement in zip(make, judged, strict=True))
    return rows, [*doubts, *_of_order(pairs, judged), *_of_correction(pairs), *_of_clock(rows)]


def _of_clock(rows: Sequence[Compared]) -> list[str]:
    """Say how many comparisons the clock leaves undecided or without a ratio."""
    undecided = sum(one.judgement.reason == UNRESOLVED for one in rows)
    bounds = sum(any(one.coarse) for one in rows)
    doubts = [f"{undecided} of {plural(len(rows), 'comparison')} undecided: {UNRESOLVED}"] if undecided else []
    if bounds:
        doubts.append(
            f"{bounds} of {plural(len(rows), 'comparison')} without a ratio: a value spans fewer than {TICKS} steps of "
            "the clock, so it is a bound (≥, ≤)"
        )
    return doubts


def _of_order(pairs: Sequence[Pair], judged: Sequence[Judgement]) -> list[str]:
    """Warn of blocked designs, and of drift at more points than chance would have."""
    blocked = sum(one.design == BLOCKED for one in judged)
    doubts = []
    if blocked:
        doubts.append(
            f"blocked: {blocked} of {plural(len(judged), 'comparison')}. One side was measured before the other, so a "
            "change "
            "of the machine in between looks like a difference. Measure both in turns (labkit measure --factor)"
        )
    sides = {id(side): side for pair in pairs for side in (pair.base, pair.other)}.values()
    drifting = sum(map(drifts, sides))
    if drifting and at_least(drifting, len(sides), 1 - LEVEL) <= 1 - LEVEL:
        doubts.append(
            f"the launches of {drifting:,} of {plural(len(sides), 'point')} and sides rise or fall with time "
            "(Kendall's "
            "test, "
            "5 %): the machine drifted. Measure again when it is quiet"
        )
    return doubts


def _of_correction(pairs: Sequence[Pair]) -> list[str]:
    """Warn if so many comparisons are made that none of them can show a difference with these launches."""
    most = max(min(len(pair.base.values), len(pair.other.values)) for pair in pairs)
    needed = least_launches(len(pairs))
    if most >= needed:
        return []
    return [
        f"with {plural(len(pairs), 'comparison')} a difference needs {plural(needed, 'launch')} a "
        "side, "
        f"and there are at most {most}. Measure or import more launches, or compare fewer points (--benchmark, --where)"
    ]


def _maker(
    point: Point,
    side: str,
    chosen: tuple[str, str],
    launches: tuple[int, int],
    p_any: float,
    badges: Mapping[str, tuple[int, ...]],
    counts: tuple[int, ...],
) -> Callable[[Judgement], Compared]:
    """Return what makes a row when its judgement is known."""

    def made(judgement: Judgement) -> Compared:
        return Compared(
            point.benchmark, point.size, point.setting, side, *chosen, launches, judgement, p_any, badges, counts
        )

    return made


def _with_bounds(made: Callable[[Judgement], Compared], clock: Resolved, judgement: Judgement) -> Compared:
    """Return a row that marks its bounds and leaves out what the clock does not resolve."""
    return replace(made(clock.applied(judgement)), coarse=clock.bounds)


def _several(texts: Sequence[str], most: int = 5) -> str:
    """Return some texts in a line, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def _statistic(point: Point, metric: str) -> tuple[str, str] | None:
    """Return metric and statistic that most launches of all sides have; the first of the benchmark, best first."""
    benchmark = benchmarks.find().get(point.benchmark)
    names = [metric] if metric else list(benchmark.metrics if benchmark else METRICS)
    for name in names:
        counts = {
            statistic: min(
                sum(_value(one, name, statistic) == _value(one, name, statistic) for one in launches)
                for launches in point.sides
            )
            for statistic in records.HEADLINES
        }
        best = max(counts, key=lambda statistic: counts[statistic])
        if counts[best]:
            return name, best
    return None


def _value(one: Launch, metric: str, statistic: str) -> float:
    """Value of a launch; NaN if it has none."""
    return float(one.row.get(statistic_column(metric, statistic), float("nan")))


def _launches(launches: Sequence[Launch], metric: str, statistic: str) -> Launches:
    """Return the values of a side, in the order of the launches' starts."""
    having = [one for one in launches if _value(one, metric, statistic) == _value(one, metric, statistic)]
    having.sort(key=lambda one: (str(one.row["start"]), one.row["launch"]))
    deciles = [one.deciles[metric] for one in having if metric in one.deciles]
    return Launches(
        [_value(one, metric, statistic) for one in having],
        [str(one.row["start"]) for one in having],
        np.array(deciles) if len(deciles) == len(having) else None,
    )


def _badges(point: Point) -> dict[str, tuple[int, ...]]:
    """Return the badges of a point, each with the number of launches of each side that have it."""
    texts = dict.fromkeys(str(badge) for part in point.sides for one in part for badge in one.row["badges"])
    return {
        text: tuple(sum(text in map(str, one.row["badges"]) for one in part) for part in point.sides) for text in texts
    }


def _twice(sides: Mapping[str, Sequence[Launch]]) -> list[str]:
    """Warn of launches that are on several sides."""
    names = [{one.name for one in launches} for launches in sides.values()]
    shared = {name for n, one in enumerate(names) for other in names[n + 1 :] for name in one & other if name[3]}
    count = plural(len(shared), "launch")
    return [f"the sides share {count}, so they do not vary independently"] if shared else []


def _definitions(points: Sequence[Point]) -> list[str]:
    """Say where definitions differ: equivalents that are not quite the same, and other doubts of imported points."""
    texts = {
        note.text: None
        for point in points
        for part in point.sides
        for one in part
        for note in one.row["warnings"]
        if note.code in ("unlike", "groups", "ranks-assumed")
    }
    return [f"definitions differ: {text}" if " is not quite " in text else text for text in texts]
