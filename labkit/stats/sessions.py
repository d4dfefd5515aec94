"""Groups the launches of a point into sessions, and tests whether launches resemble their neighbours in time.

A **session** is a group of launches in one stretch of time. Launches of one stretch share the state of the machine, so
their interval describes that state. `bench/sessions.py` measures how often it covers the truth.

References
----------
.. [1] R. Bartels, The Rank Version of von Neumann's Ratio Test for Randomness, J. American Statistical Association 77
   (377), 1982.
.. [2] A. Wald, J. Wolfowitz, On a Test Whether Two Samples are from the Same Population, Annals of Mathematical
   Statistics 11 (2), 1940.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from labkit.point.units import format_duration, plural

MOMENT = 600.0  # s between two launches: a longer gap begins a session; launches that span less show one moment
CHANCE = 0.01  # of calling independent launches dependent
_COUNTED = 8  # values with every order counted
_ORDERS = 20_000  # random orders of more values
_NORMAL = 100  # values from which on the ratio is taken as normal
_SEED = 20261126

Floats = NDArray[np.float64]


def numbered(starts: Floats, placed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the session of each launch, numbered from 0 in the order of time; -1 if a start of the point is unknown.

    Parameters
    ----------
    starts : (points, launches), s, ascending; NaN if unknown.
    placed : (points, launches), session in which the schedule placed a launch, any number; -1 for launches without a
        schedule. Among these, a gap above `MOMENT` begins a session.

    Examples
    --------
    >>> numbered(np.array([[0.0, 9.0, 700.0]]), np.array([[-1, -1, -1]])).tolist()
    [[0, 0, 1]]
    >>> numbered(np.array([[0.0, 1.0, 9.0]]), np.array([[4, 4, 7]])).tolist()
    [[0, 0, 1]]
    """
    begins = np.zeros(starts.shape, np.intp)
    with np.errstate(invalid="ignore"):
        apart = np.diff(starts, axis=1) > MOMENT
    same = placed[:, 1:] == placed[:, :-1]
    begins[:, 1:] = ~same | (apart & (placed[:, 1:] < 0))
    return np.where(np.isnan(starts).any(axis=1, keepdims=True), -1, np.cumsum(begins, axis=1))


def of_launches(starts: Sequence[str], placed: Sequence[str] = ()) -> list[int]:
    """Return the session of each launch of a point, as `numbered` does; nothing if a start is unknown.

    Parameters
    ----------
    starts : ISO 8601, in any order; without a zone, UTC.
    placed : session of the schedule; empty for launches without one.

    Examples
    --------
    >>> of_launches(["2026-11-26T08:00:00Z", "2026-11-26T07:00:00Z", "2026-11-26T08:01:00Z"])
    [1, 0, 1]
    """
    try:
        seconds = np.array([_seconds(start) for start in starts])
    except ValueError:
        return []
    if not len(seconds):
        return []
    names = {name: place for place, name in enumerate(dict.fromkeys(placed))} | {"": -1}
    order = np.argsort(seconds, kind="stable")
    number = np.array([names[name] for name in placed] or [-1] * len(starts), np.intp)
    found = np.empty(len(starts), np.intp)
    found[order] = numbered(seconds[order][None], number[order][None])[0]
    return [int(one) for one in found]


def brief(starts: Sequence[str], sessions: int) -> bool:
    """Return whether launches without a schedule span too little time for this many sessions.

    Examples
    --------
    >>> brief(["2026-11-26T08:00:00Z", "2026-11-26T08:09:00Z"], 6)
    True
    """
    try:
        return _seconds(max(starts)) - _seconds(min(starts)) <= (sessions - 1) * MOMENT
    except ValueError:
        return False


def _seconds(start: str) -> float:
    """Return a moment in s; without a zone it is UTC. A text that is not a moment raises ValueError."""
    moment = datetime.fromisoformat(start)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def basis(launches: int, sessions: int = 0, span_s: float = math.nan, least_s: float = math.nan) -> str:
    """Describe in words what values over launches are based on.

    Parameters
    ----------
    sessions : number of sessions; 0 if unknown.
    span_s : from the start of the first launch to the start of the last, s; NaN if unknown.
    least_s : the shortest span, if several points are described and `span_s` is the longest.

    Examples
    --------
    >>> basis(6, 1, 40.2), basis(18, 6, 7200.0), basis(6), basis(1, 1, 0.0)
    ('6 launches within 40 s', '18 launches in 6 sessions over 2 h', '6 launches', '1 launch')
    """
    text = plural(launches, "launch")
    if launches < 2 or not sessions or math.isnan(span_s):
        return text
    ends = [format_duration(rounded(end)) for end in (least_s, span_s) if not math.isnan(end)]
    words = " to ".join(dict.fromkeys(ends))
    if sessions > 1:
        return f"{text} in {plural(sessions, 'session')} over {words}"
    return f"{text} within {words}"


def rounded(span_s: float) -> float:
    """Format a time span: two digits below a minute, then whole seconds, from ten minutes on whole minutes.

    Examples
    --------
    >>> rounded(8.23), rounded(40.2), rounded(75.4), rounded(3640.0)
    (8.2, 40.0, 75.0, 3660.0)
    """
    if span_s >= MOMENT:
        return 60.0 * round(span_s / 60)
    return float(f"{span_s:.2g}") if span_s < 60 else float(round(span_s))


def resembling(values: Floats) -> Floats:
    """Return the one-sided p of Bartels' rank test [1]_ that launches are independent of their neighbours in time.

    Parameters
    ----------
    values : (points, launches), in the order of time.

    Returns
    -------
    (points,). All orders are counted up to 8 launches, 20,000 random ones above.

    Examples
    --------
    >>> round(float(resembling(np.arange(6.0)[None])[0]), 4)
    0.0028
    """
    n = values.shape[1]
    if n < 3:
        return np.ones(len(values))
    ranks = np.zeros(values.shape)
    for k in range(n):
        one = values[:, k, None]
        ranks += (one < values) + 0.5 * (one == values)
    ratio = _ratio(ranks)
    if n > _NORMAL:
        variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
        z = (2 - ratio) / math.sqrt(variance)
        return np.array([math.erfc(one / math.sqrt(2)) / 2 for one in z.tolist()])
    usual = _usual(n)
    few = np.searchsorted(usual, ratio + 1e-9, side="right")
    return np.asarray(few / len(usual) if n <= _COUNTED else (few + 1) / (len(usual) + 1))


def usual_changes(n: int, m: int) -> float:
    """Return the mean number of changes between two levels, with n and m launches in random order.

    Examples
    --------
    >>> usual_changes(6, 6), usual_changes(4, 2)
    (6.0, 2.6666666666666665)
    """
    return 2 * n * m / (n + m)


def few_changes(n: int, m: int, changes: int) -> float:
    """Return the p of the runs test of Wald and Wolfowitz [2]_ that two levels change too rarely, one-sided, exact.

    Parameters
    ----------
    n, m : launches of each level.
    changes : from one launch to the next, in the order of time.

    Examples
    --------
    >>> few_changes(6, 6, 1) == 2 / 924
    True
    """
    ways = 0
    for runs in range(2, changes + 2):
        half, odd = divmod(runs, 2)
        if odd:
            ways += math.comb(n - 1, half) * math.comb(m - 1, half - 1)
            ways += math.comb(n - 1, half - 1) * math.comb(m - 1, half)
        else:
            ways += 2 * math.comb(n - 1, half - 1) * math.comb(m - 1, half - 1)
    return ways / math.comb(n + m, n)


def _ratio(ranks: Floats) -> Floats:
    """Return squared differences of neighbours, summed, over squared distances from the mean, summed, (points,)."""
    whole = ((ranks - ranks.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, (np.diff(ranks, axis=1) ** 2).sum(axis=1) / whole, 4.0)  # equal values show nothing


@lru_cache(maxsize=_NORMAL)
def _usual(n: int) -> Floats:
    """Return the ratio of n independent values in every order, or in random orders, ascending."""
    if n <= _COUNTED:
        orders = np.array([*itertools.permutations(range(n))], np.float64)
    else:
        chance = np.random.default_rng(_SEED)
        orders = chance.permuted(np.tile(np.arange(n, dtype=np.float64), (_ORDERS, 1)), axis=1)
    return np.sort(_ratio(orders))
