"""Rules on the order of points: more bytes, more ranks, more loss, more delay or less rate must not make it faster."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any

from labkit import benchmarks
from labkit.analysis.plausibility.deciding import Decision, Point, beyond
from labkit.analysis.plausibility.oddity import CONFIDENCES, Oddity
from labkit.analysis.plausibility.view import PER_BYTE, PER_MESSAGE, TIMED, Series, View, worse
from labkit.benchmarks import CollectiveBenchmark
from labkit.columns import METRICS, STATISTICS
from labkit.errors import SpecError
from labkit.testbeds import parse
from labkit.units import format_number, format_size, plural

JUMP = 8.0  # times the line through its neighbours that a time may be; protocols of libraries change it by less
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


def worst(series: Series, rises: bool) -> tuple[Point, Point, Decision, int] | None:
    """Return the surest and widest pair of points in the wrong order, its decision, and how many pairs are wrong.

    Parameters
    ----------
    rises : whether values must rise along the series.
    """
    pairs = list(combinations(series.points, 2))
    wrong: list[tuple[Point, Point, Decision]] = []
    for first, last in pairs:
        large, small = (first, last) if rises else (last, first)
        if (decision := beyond(large, small, len(pairs))) is not None:
            wrong.append((first, last, decision))
    if not wrong:
        return None
    sure = list(CONFIDENCES)
    best = min(wrong, key=lambda one: (sure.index(one[2].confidence), -one[2].times))
    return *best, sum(one[2].confidence == best[2].confidence for one in wrong)


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
    evidence = [f"{statistic} of the {metric.label} over {plural(len(series.points), 'level')}"]
    if count > 1:
        evidence.append(f"{count} pairs are in this order")
    yield Oddity(
        rule=rule,
        benchmark=series.benchmark,
        setting=series.setting,
        what=f"the {metric.label} {verb} although {factor}",
        readings=(odd.reading, other.reading),
        times=decision.times,
        confidence=decision.confidence,
        evidence=tuple(evidence),
        again=view.again(first.row, last.row),
    )


def _size(row: Mapping[str, Any]) -> float | None:
    return float(row["message_size_B"]) or None


def _sized(view: View) -> Iterator[Series]:
    return view.series("message_size_B", _size, lambda size: format_size(int(size)))


def size_order(view: View) -> Iterator[Oddity]:
    """Yield series whose time of a message falls, or whose bytes per time fall, with the size."""
    for series in _sized(view):
        rises = series.metric in (*TIMED, *PER_BYTE)
        yield from _wrong_order(view, series, "size-order", rises, "messages are larger")


def _time(point: Point, value: float) -> float:
    """Return the time of a message in any unit, from a value of the point's metric."""
    if point.metric in TIMED:
        return value
    return point.at / value if point.metric in PER_BYTE else 1 / value


def size_jump(view: View) -> Iterator[Oddity]:
    """Yield sizes whose time is far above what their neighbours allow."""
    for series in _sized(view):
        points = series.points
        jumps = [one for place in range(1, len(points)) if (one := _jump(points, place))]
        for point, expected, times in sorted(jumps, key=lambda one: -one[2])[:1]:
            before = points[points.index(point) - 1]
            fewest = min(len(point.values), len(before.values))
            yield Oddity(
                rule="size-jump",
                benchmark=series.benchmark,
                setting=series.setting,
                what=f"the time jumps to {format_number(times, digits=2)} times what its neighbours allow",
                readings=(point.reading, before.reading),
                times=times,
                confidence="indicated" if fewest > 1 else "undecided",
                evidence=(
                    f"the line through the neighbours allows {format_number(expected, digits=3)} "
                    f"{'µs' if point.metric in TIMED else 'of the same unit'}",
                    f"{plural(len(jumps), 'jump')} in {plural(len(points), 'size')}",
                ),
                again=view.again(before.row, point.row),
            )


def _jump(points: tuple[Point, ...], place: int) -> tuple[Point, float, float] | None:
    """Return a point that lies far above both the line to its next neighbour and the line of those before it.

    The near ends of the ranges decide: the low end of the point, the high ends of the neighbours.
    """
    point, before = points[place], points[place - 1]
    ends = [sorted(_time(one, end) for end in one.ends) for one in points]
    low, base = ends[place][0], ends[place - 1][1]
    allowed = []
    if place + 1 < len(points):
        share = (point.at - before.at) / (points[place + 1].at - before.at)
        allowed.append(base + share * max(0.0, ends[place + 1][1] - base))
    if place > 1:
        slope = max(0.0, base - ends[place - 2][0]) / (before.at - points[place - 2].at)
        allowed.append(base + slope * (point.at - before.at))
    if not allowed or low < JUMP * max(allowed):
        return None
    centre = _time(point, point.centre)
    return point, max(allowed), centre / max(allowed)


def rank_order(view: View) -> Iterator[Oddity]:
    """Yield collectives that are faster with more ranks."""
    for series in view.series(
        "ranks",
        lambda row: float(row["ranks"]),
        lambda ranks: f"{ranks:.0f} ranks",
        metrics=TIMED,
        free=("ppn", "hosts"),
    ):
        if isinstance(benchmarks.get(series.benchmark), CollectiveBenchmark):
            yield from _wrong_order(view, series, "rank-order", True, "more ranks take part")


def _setting(option: str, absent: Mapping[str, float], row: Mapping[str, Any]) -> float | None:
    """Return the value of an option of the testbed of a row; None if that is no number, or not known."""
    try:
        name, _, options = parse(str(row["testbed"]))
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
        metrics=(*TIMED, *PER_BYTE, *PER_MESSAGE),
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
