"""Comparison of campaigns, or of the levels of a factor, point by point.

`sides` reads launches, `matching` finds the points that can be compared and the factors that differ, `judging` tests.
Points match by benchmark, size and the factors shared by all sides, not by fingerprint, which contains library and
processor. A factor in which the sides differ throughout must be declared.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import DataError, LabkitError, SpecError
from labkit.judge.comparison.judging import (
    BETTER,
    BETWEEN,
    BLOCKED,
    FASTER,
    OVER_LAUNCHES,
    SAME,
    SLOWER,
    UNDECIDED,
    WORSE,
    Judgement,
    Pair,
    drifts,
    judge,
    one_moment,
)
from labkit.judge.comparison.judging import Launches as Values
from labkit.judge.comparison.matching import Difference, Points, match, undeclared
from labkit.judge.comparison.resolved import UNRESOLVED, Resolved, resolved
from labkit.judge.comparison.sides import Launches, Side, by_levels, known, of_samples, read, restricted
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import Note, joined
from labkit.point.units import format_number, format_share, format_size, plural
from labkit.read import records
from labkit.read.records.factors import noted
from labkit.read.records.resolution import TICKS, sign
from labkit.stats.binomial import at_least
from labkit.stats.decision import RELEVANT
from labkit.stats.rank_interval import LEVEL
from labkit.stats.shift import holm, least_launches, several_p

__all__ = [
    "Compared",
    "Comparison",
    "Launches",
    "Side",
    "by_levels",
    "compare",
    "of_samples",
    "pairwise",
    "read",
    "restricted",
]


@dataclass(frozen=True)
class Compared:
    """A point on one side, compared with the first side.

    Parameters
    ----------
    benchmark, size : benchmark and size of the point.
    setting : levels of the factors in which matched points of this benchmark vary.
    side : name of the side; the base is the first.
    metric, statistic : what was compared; each launch gives one value.
    launches : launches of the base and of the side.
    judgement : test, shift and verdict.
    p_any : of the Kruskal-Wallis test over all sides, by Holm's correction over all points; NaN for two.
    badges : text → number of launches with it on each side.
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
    rows : one row per point and side, without the base.
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
        if between := counts[BETWEEN]:
            parts.append(f"{between} that {'differs' if between == 1 else 'differ'} between sessions")
        parts += [f"{counts[UNDECIDED]} with not enough data"] if counts[UNDECIDED] else []
        designs = Counter(one.judgement.design for one in self.rows)
        order = ", ".join(f"{name} {n}" for name, n in designs.items()) if len(designs) > 1 else next(iter(designs))
        what = f"{', '.join(self.sides[1:])} against {self.sides[0]}"
        count = plural(len(self.rows), "comparison")
        bases = Counter(one.judgement.basis for one in self.rows)
        named = ", ".join(f"{name} {n}" for name, n in bases.items()) if len(bases) > 1 else next(iter(bases))
        units = "" if {*bases} == {OVER_LAUNCHES} else f" Units: {named}."
        return f"{count} of {what}: {', '.join(parts)}. Order of launches: {order}.{units}"


def compare(
    sides: Mapping[str, Side],
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
    metric : metric to compare (default: the first of each benchmark that all sides have).
    relevant : smallest relevant difference, as a fraction of the value.
    force : compare even if factors differ that are not in `allow`; the result shows it.

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
    rows, doubts = _rows(matched.points, tuple(sides), metric, relevant, [one.name for one in hidden])
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


def pairwise(sides: Mapping[str, Side], **how: Any) -> Comparison:
    """Compare each side with the base separately, including points that only these two share.

    Each side has its own correction for many comparisons.

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
    points: Sequence[Points], sides: Sequence[str], metric: str, relevant: float, hidden: Sequence[str]
) -> tuple[tuple[Compared, ...], list[str]]:
    """Judge the points, and name those that cannot be judged."""
    without: list[str] = []
    testable = [_Testable(some, metric, without) for some in points]
    several = [
        several_p([one.units for one in each]) if len(each) > 2 else math.nan
        for some in testable
        for each in some.values
    ]
    by_any = iter(holm(several))
    pairs: list[Pair] = []
    make: list[tuple[Resolved, Callable[..., Compared]]] = []
    for some in testable:
        for place, names, each, clocks, badges in zip(
            some.places, some.names, some.values, some.clocks, some.badges, strict=True
        ):
            counts, p_any = tuple(some.counts[place]), next(by_any)
            if hidden:
                badges = {**badges, f"not comparable: {', '.join(hidden)}": counts}
            for side, other, clock in zip(sides[1:], each[1:], clocks, strict=True):
                pairs.append(Pair(each[0], other, names[0]))
                made = partial(
                    Compared,
                    some.points.benchmark,
                    some.points.sizes[place],
                    some.points.settings[place],
                    side,
                    *names,
                    (len(each[0].values), len(other.values)),
                    p_any=p_any,
                    badges=badges,
                    counts=counts,
                )
                make.append((clock, made))
    doubts = (
        [f"{plural(len(without), 'point')} without a statistic that all sides have: {_several(without)}"]
        if without
        else []
    )
    if not pairs:
        wanted = f" of {metric}" if metric else ""
        raise DataError(f"No point has a statistic{wanted} that all sides have. Compare another metric or benchmark.")
    judged = judge(pairs, relevant=relevant)
    rows = tuple(
        made(judgement=clock.applied(judgement), coarse=clock.bounds)
        for (clock, made), judgement in zip(make, judged, strict=True)
    )
    return rows, [*doubts, *_of_order(pairs, judged), *_of_correction(pairs), *_of_clock(rows)]


class _Testable:
    """Points of a benchmark that have a statistic on all sides.

    Parameters
    ----------
    points : points of the benchmark.
    metric : metric to compare; empty for the first that all sides have.
    without : gets the labels of the points that have none.
    """

    def __init__(self, points: Points, metric: str, without: list[str]) -> None:
        chosen = _statistics(points, metric)
        without += [
            f"{points.benchmark} {format_size(size)}"
            for size, names in zip(points.sizes, chosen, strict=True)
            if names is None
        ]
        self.points = points
        self.places = [place for place, names in enumerate(chosen) if names is not None]
        self.names = [names for names in chosen if names is not None]
        values = {
            names: list(zip(*(_values(points, side, *names) for side in range(len(points.sides))), strict=True))
            for names in dict.fromkeys(self.names)
        }
        clocks = {names: resolved(points, *names) for names in dict.fromkeys(self.names)}
        self.values = [values[names][place] for place, names in zip(self.places, self.names, strict=True)]
        self.clocks = [clocks[names][place] for place, names in zip(self.places, self.names, strict=True)]
        badges = _badges(points)
        self.badges = [badges[place] for place in self.places]
        self.counts = np.column_stack(points.counts).tolist()


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
            f"blocked: {blocked} of {plural(len(judged), 'comparison')}. One side was measured before the other. What "
            "differs may be the machine at two times, so it is neither faster nor slower: it differs between sessions. "
            "Measure both in turns (labkit measure --factor)"
        )
    if moments := sum(map(one_moment, pairs)):
        doubts.append(
            f"one session: {moments} of {plural(len(judged), 'comparison')}. One side has launches of a single "
            "session, the other of six or more. What differs may be that session, so it is neither faster nor slower: "
            "it differs between sessions. Measure both in the same sessions (labkit measure --factor FACTOR --sessions "
            "6)"
        )
    sides = {id(side): side for pair in pairs for side in (pair.base, pair.other)}.values()
    drifting = drifts([*sides])
    if drifting and at_least(drifting, len(sides), 1 - LEVEL) <= 1 - LEVEL:
        doubts.append(
            f"the launches of {drifting:,} of {plural(len(sides), 'point')} and sides rise or fall with time "
            "(Kendall's test, 5 %): the machine drifted. Measure again when it is quiet"
        )
    return doubts


def _of_correction(pairs: Sequence[Pair]) -> list[str]:
    """Warn if so many comparisons are made that none of them can show a difference with these launches."""
    most, over = max((min(len(one.base.units), len(one.other.units)), one.base.many or one.other.many) for one in pairs)
    needed = least_launches(len(pairs))
    if most >= needed:
        return []
    units = plural(needed, "session" if over else "launch")
    return [
        f"with {plural(len(pairs), 'comparison')} a difference needs {units} per side, and there are at most {most}. "
        "Measure or import more launches, or compare fewer points (--benchmark, --where)"
    ]


def _several(texts: Sequence[str], most: int = 5) -> str:
    """Return some texts in a line, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def _statistics(points: Points, metric: str) -> list[tuple[str, str] | None]:
    """Return for each point the metric and statistic that most launches of all sides have; the first, best first."""
    benchmark = benchmarks.runnable(points.benchmark)
    chosen: list[tuple[str, str] | None] = [None] * len(points)
    open_ = np.ones(len(points), bool)
    for name in [metric] if metric else list(benchmark.metrics if benchmark else METRICS):
        counts = np.array([_counts(points, statistic_column(name, statistic)) for statistic in records.HEADLINES])
        best = counts.argmax(axis=0)
        for place in np.flatnonzero(open_ & (counts.max(axis=0) > 0)).tolist():
            chosen[place] = name, records.HEADLINES[best[place]]
            open_[place] = False
        if not open_.any():
            break
    return chosen


def _counts(points: Points, column: str) -> NDArray[np.intp]:
    """Return how many launches of each point have a number, (points,), on the side where fewest have it."""
    counts = [
        np.add.reduceat(side.rows[column].notna().to_numpy()[rows].astype(np.intp), starts)
        if column in side.rows
        else np.zeros(len(points), np.intp)
        for side, rows, starts in zip(points.sides, points.rows, points.starts, strict=True)
    ]
    return np.asarray(np.min(counts, axis=0), np.intp)


def _values(points: Points, side: int, metric: str, statistic: str) -> list[Values]:
    """Return the values of a side at each point, in the order of the launches' starts."""
    launches, rows, number = points.sides[side], points.rows[side], points.number(side)
    value = launches.rows[statistic_column(metric, statistic)].to_numpy(np.float64)[rows]
    starts = launches.rows["start"].astype(str).to_numpy(object)[rows]
    placed = launches.rows["session"].fillna("").astype(str).to_numpy(object)[rows]
    order = np.lexsort((launches.rows["launch"].to_numpy()[rows], pd.factorize(starts, sort=True)[0], number))
    order = order[~np.isnan(value[order])]
    ends = np.cumsum(np.bincount(number[order], minlength=len(points))).tolist()
    listed, told, sessions = value[order].tolist(), starts[order].tolist(), placed[order].tolist()
    deciles = launches.deciles.get(metric)
    slow = deciles[rows][order] if deciles is not None else None
    sampled = ~np.isnan(slow).all(axis=1) if slow is not None else np.zeros(len(order), bool)
    whole = np.bincount(number[order], ~sampled, len(points)) == 0
    return [
        Values(listed[a:b], told[a:b], slow[a:b] if every and slow is not None else None, sessions[a:b])
        for a, b, every in zip([0, *ends[:-1]], ends, whole.tolist(), strict=True)
    ]


def _coded(points: Points, column: str) -> tuple[list[NDArray[np.intp]], list[tuple[Note, ...]]]:
    """Return the place of the notes of each launch among the different ones, by sides, and these."""
    codes, cells = noted(pd.concat([side.rows[column] for side in points.sides]))
    parts = np.split(codes, np.cumsum([len(side) for side in points.sides])[:-1])
    return [part[rows] for part, rows in zip(parts, points.rows, strict=True)], cells


def _badges(points: Points) -> list[Mapping[str, tuple[int, ...]]]:
    """Return the badges of each point, each with the number of launches of each side that have it."""
    codes, cells = _coded(points, "badges")
    texts = [tuple(map(str, cell)) for cell in cells]
    parts = [np.split(each, starts[1:]) for each, starts in zip(codes, points.starts, strict=True)]
    known: dict[tuple[bytes, ...], Mapping[str, tuple[int, ...]]] = {}
    found = []
    for sides in zip(*parts, strict=True):
        key = tuple(side.tobytes() for side in sides)
        if key not in known:
            listed = [[texts[code] for code in side.tolist()] for side in sides]
            names = dict.fromkeys(text for side in listed for cell in side for text in cell)
            known[key] = {text: tuple(sum(text in cell for cell in side) for side in listed) for text in names}
        found.append(known[key])
    return found


_LAUNCH = ("benchmark", "message_size_B", "fingerprint", "start", "elapsed_s", "origin")  # one and the same launch


def _twice(sides: Mapping[str, Side]) -> list[str]:
    """Warn of launches that are on several sides."""
    frames = [pd.concat([one.rows[[*_LAUNCH]] for one in side]) for side in sides.values() if side]
    names = [frame[(frame["start"] != "") & frame["elapsed_s"].notna()].drop_duplicates() for frame in frames]
    every = pd.concat(names) if names else pd.DataFrame()
    shared = len(every[every.duplicated()].drop_duplicates())
    return [f"the sides share {plural(shared, 'launch')}, so they do not vary independently"] if shared else []


def _definitions(points: Sequence[Points]) -> list[str]:
    """Say where definitions differ: equivalents that are not quite the same, and other doubts of imported points."""
    texts: dict[str, None] = {}
    for some in points:
        codes, cells = _coded(some, "warnings")
        number = np.concatenate([some.number(side) for side in range(len(codes))])
        every = np.concatenate(codes)[np.argsort(number, kind="stable")]  # point after point, side after side
        listed = (one for code in pd.unique(every).tolist() for one in cells[code])
        texts |= dict.fromkeys(one.text for one in listed if one.code in ("unlike", "groups", "ranks-assumed"))
    return [f"definitions differ: {text}" if " is not quite " in text else text for text in texts]
