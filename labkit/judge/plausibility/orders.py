"""Rules on the order of points: more bytes, more ranks, more loss, more delay or less rate must not make it faster."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.benchmarks import CollectiveBenchmark
from labkit.errors import SpecError
from labkit.judge.plausibility.deciding import DOUBTFUL, END, Decision, Point, beyond
from labkit.judge.plausibility.oddity import Confidence, Oddity
from labkit.judge.plausibility.view import PER_BYTE, TIMED, Series, View, worse
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.testbed import parse
from labkit.point.units import format_number, plural
from labkit.stats.decision import above, enough

JUMP = 8.0  # times the line through its neighbours that a time may be; protocols of libraries change it by less
_CHANCE = 1 - stats.LEVEL
_BLOCK, _TESTED = 1 << 20, 1 << 14  # pairs that are compared, and tested, at once
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([a-z]*)")
_PREFIX = {"": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

_NONE = {"soft-roce": 0.0, "virtual-cluster": 0.0}  # without the option, these testbeds add no loss and no delay


def amount(text: str) -> float:
    """Return a rate, bit/s, a delay, s, or a plain number; NaN for any other text.

    Examples
    --------
    >>> amount("8mbit"), amount("4ms"), amount("1"), amount("fast")
    (8000000.0, 0.004, 1.0, nan)
    """
    match = _NUMBER.fullmatch(text)
    return float(match[1]) * _PREFIX.get(match[2], math.nan) if match else math.nan


@dataclass(frozen=True)
class Wrong:
    """The widest of the pairs of a series that are in the wrong order and equally sure; of several the first.

    Parameters
    ----------
    times : how far it is apart.
    first, last : its places.
    count : number of pairs.
    """

    times: float
    first: int
    last: int
    count: int


def worst(series: Series, rises: bool) -> tuple[Point, Point, Decision, int] | None:
    """Return the surest and widest pair of points in the wrong order, its decision, and how many pairs are as sure.

    Parameters
    ----------
    rises : whether values must rise along the series.

    Notes
    -----
    The result is that of `beyond` for all pairs. It takes n log n steps for n points: whether an order is *undecided*
    follows from one number of each point, so sorting counts the pairs. A rank test looks at the launches
    of both points; only pairs that it may show are tested. It can show none in a long series: 6 launches each are
    enough for 10 points, 10 launches for 136, 14 for 2000.
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
    """Yield the pairs of points with so many launches whose launches differ, a block at a time."""
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
    """Return the pairs that are far apart, of which one point has too few launches for a test."""
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
    """Count the pairs of places of which the later has a code below the reach of the earlier.

    Returns
    -------
    Their number, and for each place the least value of the later ones; infinite where there is none.

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


def _wrong_order(view: View, series: Series, rule: str, rises: bool, factor: str) -> Iterator[Oddity]:
    """Yield the pair of a series that is in the wrong order."""
    surest = worst(series, rises)
    if surest is None:
        return
    first, last, decision, count = surest
    metric = METRICS[series.metric]
    statistic = STATISTICS[first.statistic].label
    verb = "falls" if last.centre < first.centre else "rises"
    odd, other = (last, first)
    evidence = [f"{statistic} of the {metric.label} over {plural(len(series), 'level')}"]
    if count > 1:
        evidence.append(f"{count} pairs are in this order")
    yield Oddity(
        rule=rule,
        benchmark=series.benchmark,
        setting=series.describe(),
        what=f"the {metric.label} {verb} although {factor}",
        readings=(odd.reading, other.reading),
        times=decision.times,
        confidence=decision.confidence,
        evidence=tuple(evidence),
        again=view.again(first.row, last.row),
    )


def size_order(view: View) -> Iterator[Oddity]:
    """Yield series whose time of a message falls, or whose bytes per time fall, with the size."""
    for series in view.sized:
        rises = series.metric in (*TIMED, *PER_BYTE)
        yield from _wrong_order(view, series, "size-order", rises, "messages are larger")


def _message_times(series: Series, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time of a message in any unit, from values of the points' metric."""
    if series.metric in TIMED:
        return values
    return series.at / values if series.metric in PER_BYTE else 1 / values


def size_jump(view: View) -> Iterator[Oddity]:
    """Yield sizes whose time is far above what their neighbours allow."""
    for series in view.sized:
        allowed = _allowed(series.at, _message_times(series, series.centre))
        ratios = _message_times(series, series.centre) / allowed
        found = {place: sure for place in np.flatnonzero(ratios >= JUMP).tolist() if (sure := _jumps(series, place))}
        if not found:
            continue
        surest: Confidence = "shown" if "shown" in found.values() else "undecided"
        jumps = [place for place, sure in found.items() if sure == surest]
        times = ratios[jumps]
        place = jumps[int(np.argmax(times))]
        point, before = series.point(place), series.point(place - 1)
        yield Oddity(
            rule="size-jump",
            benchmark=series.benchmark,
            setting=series.describe(),
            what=f"the time jumps to {format_number(float(times.max()), digits=2)} times what its neighbours allow",
            readings=(point.reading, before.reading),
            times=float(times.max()),
            confidence=surest,
            evidence=(
                f"the line through the neighbours allows {format_number(float(allowed[place]), digits=3)} "
                f"{'µs' if point.metric in TIMED else 'of the same unit'}",
                f"{plural(len(jumps), 'jump')} in {plural(len(series), 'size')}",
            ),
            again=view.again(before.row, point.row),
        )


def _jumps(series: Series, place: int) -> Confidence | None:
    """Return how sure it is that a time jumps: its launches against what those of its neighbours allow, one by one."""
    places = range(max(0, place - 2), min(len(series), place + 2))
    each = [_message_times_of(series, near) for near in places]
    count = min(map(len, each))
    own = places.index(place)
    allowed = [
        _allowed(series.at[places.start : places.stop], one)[own] for one in np.array([v[:count] for v in each]).T
    ]
    if above(np.log(np.array(allowed))[None], np.log(each[own])[None], math.log(JUMP), len(series))[0]:
        return "shown"
    return None if enough(count, len(each[own]), len(series), larger=True) else "undecided"


def _message_times_of(series: Series, place: int) -> NDArray[np.float64]:
    """Return the times of a message in the launches of a point, as `_message_times`."""
    values = series.point(place).values
    if series.metric in TIMED:
        return values
    return series.at[place] / values if series.metric in PER_BYTE else 1 / values


def _allowed(at: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time that the neighbours of each point allow, infinite where they are too few.

    They allow the larger one of two lines: to the next neighbour, and of the two before.
    """
    lines = np.full((2, len(at)), -math.inf)
    share = (at[1:-1] - at[:-2]) / (at[2:] - at[:-2])
    lines[0, 1:-1] = times[:-2] + share * np.maximum(0.0, times[2:] - times[:-2])
    slope = np.maximum(0.0, times[1:-1] - times[:-2]) / (at[1:-1] - at[:-2])
    lines[1, 2:] = times[1:-1] + slope * (at[2:] - at[1:-1])
    allowed = lines.max(axis=0)
    return np.where(np.isfinite(allowed), allowed, math.inf)


def rank_order(view: View) -> Iterator[Oddity]:
    """Yield collectives that are faster with more ranks."""
    for series in view.series(
        "ranks",
        float,
        lambda ranks: f"{ranks:.0f} ranks",
        metrics=TIMED,
        free=("ppn", "hosts"),
    ):
        if isinstance(benchmarks.get(series.benchmark), CollectiveBenchmark):
            yield from _wrong_order(view, series, "rank-order", True, "more ranks take part")


def _setting(option: str, absent: Mapping[str, float], testbed: str) -> float | None:
    """Return the value of an option of a testbed; None if that is no number, or not known."""
    try:
        name, _, options = parse(testbed)
    except SpecError:
        return None
    value = amount(options[option]) if option in options else absent.get(name, math.nan)
    return None if math.isnan(value) else value


def _without(option: str, testbed: str) -> str:
    """Return a text that is the same for testbeds that differ in an option only."""
    try:
        name, argument, options = parse(testbed)
    except SpecError:
        return testbed
    return str((name, argument, sorted((key, value) for key, value in options.items() if key != option)))


def _along(view: View, option: str, absent: Mapping[str, float], said: Callable[[float], str]) -> Iterator[Series]:
    return view.series(
        "testbed",
        partial(_setting, option, absent),
        said,
        replace={"testbed": partial(_without, option)},
    )


def loss_order(view: View) -> Iterator[Oddity]:
    """Yield points that are faster on a link that loses more packets."""
    for series in _along(view, "loss", _NONE, lambda loss: f"{loss:g} % loss" if loss else "no loss"):
        yield from _wrong_order(view, series, "loss-order", worse(series.metric) > 0, "the link loses more packets")


def delay_order(view: View) -> Iterator[Oddity]:
    """Yield points that are faster on a link with more delay."""
    for series in _along(view, "delay", _NONE, lambda delay: f"delay {delay * 1e3:g} ms" if delay else "no delay"):
        yield from _wrong_order(view, series, "delay-order", worse(series.metric) > 0, "the link's delay is longer")


def rate_order(view: View) -> Iterator[Oddity]:
    """Yield points that are slower on a link with a higher rate."""
    for option in ("rate", "uplink"):

        def said(rate: float, option: str = option) -> str:
            return f"{option} {rate / 1e6:g} Mbit/s" if math.isfinite(rate) else f"no limit of the {option}"

        for series in _along(view, option, {"soft-roce": math.inf} if option == "rate" else {}, said):
            yield from _wrong_order(view, series, "rate-order", worse(series.metric) < 0, "the link's rate is higher")
