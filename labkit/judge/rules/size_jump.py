"""Sizes whose time is far above what their neighbours allow."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labkit.judge.finding import TIMES, Count, Decided, Evidence, Finding, Value
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, OPEN, REMEDY, SHOWN, level_of
from labkit.judge.view import View
from labkit.judge.view.points import PER_BYTE, TIMED, Series
from labkit.point.units import format_number
from labkit.stats.decision import above, enough

JUMP = 8.0  # times the line through its neighbours that a time may be; protocols of libraries change it by less


def check(view: View) -> Iterator[Finding]:
    """Yield sizes whose time is far above what their neighbours allow."""
    for series in view.sized:
        allowed = _allowed(series.at, _message_times(series, series.centre))
        ratios = _message_times(series, series.centre) / allowed
        found = {place: sure for place in np.flatnonzero(ratios >= JUMP).tolist() if (sure := _jumps(series, place))}
        if not found:
            continue
        surest = SHOWN if SHOWN in found.values() else OPEN
        jumps = [place for place, sure in found.items() if sure == surest]
        place = jumps[int(np.argmax(ratios[jumps]))]
        times, point, before = float(ratios[place]), series.point(place), series.point(place - 1)
        values = {"jumps": Count(len(jumps), "jump"), "sizes": Count(len(series), "size")}
        yield RULE.found(
            view.points(point.row, before.row, setting=series.describe()),
            level=level_of(surest),
            cost=times,
            decided=surest,
            evidence=(Evidence(code="jumps", values=values),),
            command=view.again(before.row, point.row),
            measured=point.value,
            other=before.value,
            times=Value(value=times, unit=TIMES),
        )


def _message_times(series: Series, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time of a message in any unit, from values of the points' metric."""
    if series.metric in TIMED:
        return values
    return series.at / values if series.metric in PER_BYTE else 1 / values


def _jumps(series: Series, place: int) -> Decided | None:
    """Return how certain a jump of the time is: each launch is compared with the limit that the neighbours allow."""
    places = range(max(0, place - 2), min(len(series), place + 2))
    each = [_message_times_of(series, near) for near in places]
    count = min(map(len, each))
    own = places.index(place)
    allowed = [
        _allowed(series.at[places.start : places.stop], one)[own] for one in np.array([v[:count] for v in each]).T
    ]
    if above(np.log(np.array(allowed))[None], np.log(each[own])[None], math.log(JUMP), len(series))[0]:
        return SHOWN
    return None if enough(count, len(each[own]), len(series), larger=True) else OPEN


def _message_times_of(series: Series, place: int) -> NDArray[np.float64]:
    """Return the times of a message in the launches of a point, as `_message_times`."""
    values = series.point(place).values
    if series.metric in TIMED:
        return values
    return series.at[place] / values if series.metric in PER_BYTE else 1 / values


def _allowed(at: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time that the neighbours of each point allow, infinite if they are too few.

    They allow the larger one of two lines: to the next neighbour, and of the two before.
    """
    lines = np.full((2, len(at)), -math.inf)
    share = (at[1:-1] - at[:-2]) / (at[2:] - at[:-2])
    lines[0, 1:-1] = times[:-2] + share * np.maximum(0.0, times[2:] - times[:-2])
    slope = np.maximum(0.0, times[1:-1] - times[:-2]) / (at[1:-1] - at[:-2])
    lines[1, 2:] = times[1:-1] + slope * (at[2:] - at[1:-1])
    allowed = lines.max(axis=0)
    return np.where(np.isfinite(allowed), allowed, math.inf)


RULE = Rule(
    code="size-jump",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must=f"a time is below {format_number(JUMP)} times the line through the neighbouring sizes",
    why="protocols of MPI libraries change times by less",
    says="the time jumps to {times:2} what its neighbours allow ({measured:named}; {other:named})",
    clues={"jumps": "{jumps} in {sizes}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
