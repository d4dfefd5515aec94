"""Points in the wrong order, for rules on sizes, ranks and links: more work must not take less time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.finding import TIMES, Count, Evidence, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.rules._deciding import DOUBTFUL, END, Decision, beyond, level_of
from labkit.judge.view import View
from labkit.judge.view.points import Point, Series
from labkit.point.columns import METRICS, STATISTICS
from labkit.stats.decision import above, enough

_CHANCE = 1 - stats.LEVEL
_BLOCK, _TESTED = 1 << 20, 1 << 14  # pairs that are compared, and tested, at once
CLUES = {"series": "{statistic} over {levels}", "pairs": "{pairs} are in this order"}


def says(although: str) -> dict[str, str]:
    """Return the templates of a rule about an order, by form."""
    numbers = "({measured:named}; {other:named}); {times:2}"
    return {verb: f"the {{label}} {verb} although {although} {numbers}" for verb in ("falls", "rises")}


@dataclass(frozen=True)
class Wrong:
    """The first of the widest pairs of a series that are in the wrong order with the highest certainty.

    Parameters
    ----------
    times : ratio of its values.
    first, last : its positions.
    count : number of such pairs.
    """

    times: float
    first: int
    last: int
    count: int


def worst(series: Series, rises: bool) -> tuple[Point, Point, Decision, int] | None:
    """Return the surest and widest pair in the wrong order, its decision, and the number of equally sure pairs.

    Parameters
    ----------
    rises : whether values must rise along the series.

    Notes
    -----
    The result equals that of `beyond` for all pairs, in n log n steps for n points: sorting finds the *undecided*
    pairs, and a rank test follows only for pairs that it can show. In a long series it can show none: 6 launches each
    are enough for 10 points, 10 launches for 136, 14 for 2000.
    """
    for pairs in (_shown, _undecided):
        if wrong := pairs(series, rises):
            first, last = series.point(wrong.first), series.point(wrong.last)
            decision = beyond(*((first, last) if rises else (last, first)), _tests(series))
            assert decision is not None
            return first, last, decision, wrong.count
    return None


def _tests(series: Series) -> int:
    """Return the number of pairs of a series."""
    return math.comb(len(series), 2)


def _times(series: Series, rises: bool, first: Any, last: Any) -> NDArray[np.float64]:
    """Return how many times one point of a pair is beyond the other; above 1 if the order is wrong."""
    large, small = (first, last) if rises else (last, first)
    return np.asarray(series.centre[large] / series.centre[small])


def _shown(series: Series, rises: bool) -> Wrong | None:
    """Return the pairs whose launches differ."""
    found: list[Wrong] = []
    counts = np.unique(series.launches).tolist()
    for one, other in product(counts, repeat=2):
        if enough(one, other, _tests(series), larger=True):
            found += _tested(series, rises, one, other)
    if not found:
        return None
    widest = min(found, key=lambda wrong: (-wrong.times, wrong.first, wrong.last))
    return replace(widest, count=sum(wrong.count for wrong in found))


def _tested(series: Series, rises: bool, one: int, other: int) -> Iterator[Wrong]:
    """Yield the pairs of points with this many launches whose launches differ, a block at a time."""
    tests, inner = _tests(series), 1
    # p counts the ways to deal the launches that are at least as far: if the `inner` near ends of both points overlap,
    # all ways to deal these
    while inner < min(one, other) and tests * math.comb(2 * inner, inner) <= _CHANCE * math.comb(one + other, one):
        inner += 1
    firsts, lasts = (np.flatnonzero(series.launches == count) for count in (one, other))
    firsts, lasts = firsts[firsts < lasts[-1]], lasts[lasts > firsts[0]]
    if not (len(firsts) and len(lasts)):
        return
    of_first, of_last = (np.sort(np.log(series.values(places)), axis=1) for places in (firsts, lasts))
    sign = 1 if rises else -1
    near_first, near_last = (
        (sign * of_first[:, inner - 1], sign * of_last[:, -inner])
        if rises
        else (sign * of_first[:, -inner], sign * of_last[:, inner - 1])
    )
    for rows in np.array_split(np.arange(len(firsts)), len(firsts) * len(lasts) // _BLOCK + 1):
        times = _times(series, rises, firsts[rows][:, None], lasts[None])
        open_ = (times > 1) & (firsts[rows][:, None] < lasts) & (near_first[rows][:, None] > near_last)
        sure, pairs = np.zeros_like(open_), np.argwhere(open_)
        for some in np.array_split(pairs, len(pairs) // _TESTED + 1):
            row, column = some.T
            large, small = (of_first[rows[row]], of_last[column]) if rises else (of_last[column], of_first[rows[row]])
            sure[row, column] = above(small, large, END, tests)
        if sure.any():
            first, last = divmod(int(np.argmax(np.where(sure, times, 0.0))), len(lasts))
            yield Wrong(float(times[first, last]), int(firsts[rows[first]]), int(lasts[last]), int(sure.sum()))


def _undecided(series: Series, rises: bool) -> Wrong | None:
    """Return the pairs that are far apart, if one point has too few launches for a test."""
    counts = [
        count for count in np.unique(series.launches).tolist() if not enough(count, count, _tests(series), larger=True)
    ]
    centre, few = series.centre, np.isin(series.launches, counts)
    if not few.any():
        return None
    kinds = np.unique(centre) if rises else np.unique(centre)[::-1]
    codes = np.searchsorted(kinds, centre) if rises else len(kinds) - 1 - np.searchsorted(kinds[::-1], centre)
    reach, end = np.zeros(len(centre), np.intp), np.full(len(centre), len(kinds))
    while (reach < end).any():  # bisection: how many of the values are far enough from each point
        middle = (reach + end) // 2
        other = kinds[np.minimum(middle, len(kinds) - 1)]
        far = (reach < end) & ((centre / other if rises else other / centre) >= DOUBTFUL)
        reach, end = np.where(far, middle + 1, reach), np.where(far, end, middle)
    count = _later(codes, reach, centre)[0] - _later(codes[~few], reach[~few], centre[~few])[0]
    if not count:
        return None
    extreme = np.minimum if rises else np.maximum
    nothing = math.inf if rises else 0.0

    def after(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the extreme of the values at later places."""
        return np.append(extreme.accumulate(values[::-1])[::-1][1:], nothing)

    best = np.where(few, after(centre), after(np.where(few, centre, nothing)))
    times = centre / best if rises else best / centre
    first = int(np.argmax(times))
    ratios = _times(series, rises, first, slice(first + 1, None))
    allowed = few[first] | few[first + 1 :]
    last = first + 1 + int(np.argmax(allowed & (ratios == times[first])))
    return Wrong(float(times[first]), first, last, count)


def _later(codes: NDArray[np.intp], reach: NDArray[np.intp], values: NDArray[np.float64]) -> tuple[int, Any]:
    """Count the pairs of places where the later code is below the reach of the earlier one.

    Returns
    -------
    How many there are, and for each place the least value of the later ones; infinite where none follows.

    Notes
    -----
    Halves of blocks are compared, then these blocks with their neighbours: a sort for each doubling of the length.
    """
    n, top = len(codes), int(codes.max(initial=-1)) + 1
    size = 1 << max(0, n - 1).bit_length()
    codes, reach = (np.concatenate([each, np.full(size - n, pad)]) for each, pad in ((codes, top), (reach, 0)))
    values, least = np.concatenate([values, np.full(size - n, math.inf)]), np.full(size, math.inf)
    count, width = 0, 1
    while width < size:
        halves = (size // (2 * width), 2, width)
        block = np.arange(halves[0])[:, None]
        later = codes.reshape(halves)[:, 1] + block * (top + 1)  # so that all blocks are sorted as one
        order = np.argsort(later, axis=1)
        ends = np.searchsorted(
            np.take_along_axis(later, order, 1).ravel(), reach.reshape(halves)[:, 0] + block * (top + 1)
        )
        ends -= block * width
        count += int(ends.sum())
        running = np.minimum.accumulate(np.take_along_axis(values.reshape(halves)[:, 1], order, 1), axis=1)
        found = np.where(ends > 0, np.take_along_axis(running, np.maximum(ends - 1, 0), 1), math.inf)
        earlier = least.reshape(halves)[:, 0]
        np.minimum(earlier, found, out=earlier)
        width *= 2
    return count, least[:n]


def wrong_order(rule: Rule, view: View, series: Series, rises: bool) -> Iterator[Finding]:
    """Yield the pair of a series that is in the wrong order.

    Parameters
    ----------
    rises : whether values must rise along the series.
    """
    surest = worst(series, rises)
    if surest is None:
        return
    first, last, decision, count = surest
    levels = Count(len(series), "level")
    clues = [Evidence(code="series", values={"statistic": STATISTICS[first.statistic].label, "levels": levels})]
    if count > 1:
        clues.append(Evidence(code="pairs", values={"pairs": Count(count, "pair")}))
    yield rule.found(
        view.points(last.row, first.row, setting=series.describe()),
        level=level_of(decision.decided),
        form="falls" if last.centre < first.centre else "rises",
        cost=decision.times,
        decided=decision.decided,
        evidence=tuple(clues),
        command=view.again(first.row, last.row),
        label=METRICS[series.metric].label,
        measured=last.value,
        other=first.value,
        times=Value(value=decision.times, unit=TIMES),
    )
