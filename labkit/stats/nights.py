"""Common factors of the points of a night, the nights that later ones are compared with, and slow drifts.

Points of one night share its day: the machine is warmer, another job runs, a clock is lower. A factor common to them is
estimated as the median of their ratios to their own means in the first nights (a polish of a table by columns) [1]_.
Values are logarithms in which more is worse, so that factors are differences.

The first `FIRST` nights of a series are its first reference. A later night enters the reference after `WAIT` further
nights passed, unless they show that it was worse. So the reference does not absorb a small change at once. A t-test
of two means with pooled spread [2]_ compares the last nights (`WINDOWS`) with two references: the first reference,
which never changes and so shows drifts, and all earlier nights. For series with correlated neighbouring nights, the
quantile belongs to an AR(1) process [3]_. As for a single night, most launches must also be beyond the
distribution-free limit.

References
----------
.. [1] J. W. Tukey, Exploratory Data Analysis, Addison-Wesley 1977, ch. 11.
.. [2] G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, ch. 4: limits of the mean of future values.
.. [3] G. E. P. Box, G. M. Jenkins, Time Series Analysis, Holden-Day 1970, ch. 2: the variance of means of AR(1).
.. [4] P. Bauer, P. Hackl, The use of MOSUMS for quality control, Technometrics 20 (1978).
.. [5] J. W. Craig, A new, simple and exact result for calculating the probability of error, MILCOM 1991.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.limits import CAMPAIGNS, student

FIRST = 10  # nights of a series that are its first reference
WAIT = 3  # later nights that pass before a night enters the reference
WINDOWS = (12, 4)  # last nights that are compared together
MEMBERS = 5  # points with a common factor, at least
COMMON = 0.6  # of the chance of a false alarm of a gate: for all common factors; the rest is for the points
TAIL = 0.25  # as much of it for a common factor of tails as for one of medians, which shows most changes before
SHARES = (0.9, 0.05, 0.05)  # of the chance of a comparison: for the night alone, and for each window
SHARES_COMMON = (0.1, 0.8, 0.1)  # of the chance of a common factor, which single nights show less
CORRELATION = 0.5  # of the common factor from night to night, which its limits allow for
NEIGHBOURS = 0.5  # weight of the products of neighbouring deviations in the spread of nights that may be correlated
_MOST = 60  # values of the past that a limit with correlation counts; more make it hardly lower
_APART = 5  # nights after which correlation is nothing
_NODES = 24  # of an integral over a smooth periodic function
_HALVINGS = 50  # of an interval of logarithms, to the last digit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def first(values: Floats) -> Flags:
    """Return which nights are the first `FIRST` of each series that have a value, (nights, series)."""
    known = ~np.isnan(values)
    return np.asarray(known & (np.cumsum(known, axis=0) <= FIRST))


def medians(values: Floats) -> Floats:
    """Return the median of each column without NaN; NaN if there is nothing else.

    Examples
    --------
    >>> medians(np.array([[1.0, math.nan], [4.0, math.nan], [math.nan, math.nan]])).tolist()
    [2.5, nan]
    """
    if not len(values):
        return np.full(values.shape[1], math.nan)
    count, ordered = np.count_nonzero(~np.isnan(values), axis=0), np.sort(values, axis=0)
    low, high = (
        np.take_along_axis(ordered, place[None], 0)[0] for place in (np.maximum(count - 1, 0) // 2, count // 2)
    )
    return np.asarray(np.where(count > 0, (low + high) / 2, math.nan))


def common_factor(values: Floats) -> Floats:
    """Return the common factor of the points of each night, (nights,); NaN with fewer than `MEMBERS` points.

    Parameters
    ----------
    values : (nights, points), logarithms in which more is worse; NaN if a night lacks a point.
    """
    # means, because these nights are among those of the median: it would lie nearer to them than to later ones
    ratios = values - _means(values, first(values))
    enough = np.count_nonzero(~np.isnan(ratios), axis=1) >= MEMBERS
    return np.where(enough, medians(ratios.T), math.nan)


def shared(chance: float, points: int, tails: Sequence[bool], past: int) -> tuple[float, list[float]]:
    """Divide the chance of a false alarm among the comparisons of points and the common factors.

    Until the first reference is complete, all get equal parts. Then the few common factors get more.

    Parameters
    ----------
    tails : for each common factor, whether it belongs to tails.
    past : nights of the past.

    Examples
    --------
    >>> shared(0.01, 98, [False, False], 5), shared(0.01, 100, [False, False], 10)
    ((0.0001, [0.0001, 0.0001]), (4e-05, [0.003, 0.003]))
    """
    if past < FIRST:
        equal = chance / max(points + len(tails), 1)
        return equal, [equal] * len(tails)
    common, weights = COMMON * chance if tails else 0.0, [TAIL if tail else 1.0 for tail in tails]
    return (chance - common) / max(points, 1), [common * weight / sum(weights) for weight in weights]


@lru_cache(maxsize=4096)
def reach(past: int, ahead: int, chance: float, correlation: float = 0.0, gap: int = 1) -> float:
    """Return how far the mean of the next values may be above the mean of past ones, in pooled sample deviations.

    Without correlation these are the limits of Student's t. With it, the distance of the means and the deviations
    depend on each other. The deviations then include products of neighbours, weighted by `NEIGHBOURS`, so that the
    limits of nights that are in fact independent are narrower. The ratio of both exceeds a limit if a quadratic form of
    normal values, with one positive eigenvalue, is positive. The chance of this is the mean of the normal tail at the
    root of a sum of squares. Craig's formula for this tail [5]_ makes it an integral over an angle.

    Parameters
    ----------
    past, ahead : how many values; two of the past at least.
    chance : chance that the mean lies farther above, if all values have one distribution.
    correlation : correlation of neighbouring values of an AR(1) process.
    gap : places from the last value of the past to the first of the next.

    Examples
    --------
    >>> round(reach(10, 1, 0.01), 3), round(reach(10, 1, 0.01, 0.5), 3), round(reach(10, 12, 0.01, 0.5), 3)
    (2.959, 3.146, 1.811)
    """
    if not correlation:
        return student(chance, past + ahead - 2) * math.sqrt(1 / past + 1 / ahead)
    past, gap = min(past, _MOST), min(gap, _APART)
    places = np.append(np.arange(past), np.arange(ahead) + past + gap - 1)
    root = np.linalg.cholesky(correlation ** np.abs(places[:, None] - places))
    groups = np.repeat(((1.0, 0.0), (0.0, 1.0)), (past, ahead), axis=0)
    means = groups / groups.sum(axis=0)
    rest = (np.eye(past + ahead) - groups @ means.T) @ root
    pairs = np.eye(past + ahead, k=1) * (groups @ groups.T)
    squares, axes = np.linalg.eigh(rest.T @ rest + NEIGHBOURS / 2 * rest.T @ (pairs + pairs.T) @ rest)
    distances = (axes.T @ root.T @ (means[:, 1] - means[:, 0])) ** 2
    squares = np.maximum(squares, 0.0)
    sines = np.sin((np.arange(_NODES) + 0.5) * math.pi / (2 * _NODES))[:, None] ** 2

    def largest(times: float) -> float:
        return float((distances / (1 + times * squares)).sum())

    def exceeded(times: float) -> float:
        # logarithms of the product of 1 + ratio / sine² over the ratios of the negative eigenvalues to the positive
        # one, largest(times): the characteristic polynomial of a diagonal matrix with a change of rank one
        rest = (distances / (sines + times * squares)).sum(axis=1) / largest(times) - 1
        product = np.log1p(times * squares / sines).sum(axis=1) + np.log(rest * (sines / (1 - sines))[:, 0])
        return float(np.exp(-product / 2).mean()) / 2

    low, high = -60.0, 60.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeded(math.exp(middle)) > chance else (low, middle)
    times = math.exp(high)
    return math.sqrt(times * largest(times) * (past + ahead - 2))


@dataclass(frozen=True, eq=False)
class Replay:
    """Verdicts on each night, in the order of time, (nights, series).

    Parameters
    ----------
    reference : nights with which the last one is compared.
    alone : nights that are worse than their reference allows.
    drifting : nights with which the last nights together are worse than a reference allows.
    rejected : nights that do not enter the reference, for one of these reasons.
    limit, share : of the last night alone, (series,): the largest value that passes, infinity with too few nights, and
        the part of the chance that it takes.
    together, drifts, allowed, found : how many last nights are compared, how far they lie above the past, how far they
        may, and whether they are worse, (comparisons, series): for each of `WINDOWS`, with the first reference and with
        all nights before them. 0 and NaN if nothing is compared.
    """

    reference: Flags
    alone: Flags
    drifting: Flags
    rejected: Flags
    limit: Floats
    share: Floats
    together: NDArray[np.intp]
    drifts: Floats
    allowed: Floats
    found: Flags


def replay(
    values: Floats,
    chance: float,
    beyond: Callable[[Flags, int, Flags, float], bool],
    *,
    accepted: Flags | None = None,
    least: ArrayLike = 0.0,
    shares: tuple[float, float, float] = SHARES,
    correlation: float = 0.0,
) -> Replay:
    """Judge night after night as a gate would have done at the time.

    Parameters
    ----------
    values : (nights, series), logarithms in which more is worse; NaN if a night lacks a series.
    chance : chance of a false alarm of one night in one series.
    beyond : whether the launches of some nights, in a series, are beyond the limit that those of reference nights give
        with a chance; all nights are flags. It is asked only about nights whose medians are beyond Student's limit.
    accepted : (nights,), whether a person made the night part of the reference.
    least : (series,), by how much the last nights together may always be worse.
    shares : shares of the chance, for the night alone and for each of `WINDOWS`; the night alone has all of it as long
        as no nights can be compared together.
    correlation : correlation of neighbouring nights.
    """
    known, last = ~np.isnan(values), len(values) - 1
    chosen = np.zeros(len(values), bool) if accepted is None else accepted
    base = known & ((np.cumsum(known, axis=0) <= FIRST) | chosen[:, None])
    alone, drifting, rejected, reference = (np.zeros(values.shape, bool) for _ in range(4))
    drifts, allowed = (np.full((2 * len(WINDOWS), values.shape[1]), math.nan) for _ in range(2))
    found, together = np.zeros(drifts.shape, bool), np.zeros(drifts.shape, np.intp)
    for t in range(min(FIRST, last), last + 1):
        until, tonight = values[: t + 1], (np.arange(t + 1) == t)[:, None]
        before = known[: t + 1] & ~tonight
        sound, first = before & ~rejected[: t + 1], before & base[: t + 1]
        passed = np.cumsum(sound, axis=0)
        now = first | sound & (passed[-1] - passed >= WAIT)
        later = before & ~first & ~alone[: t + 1]
        share = np.where(later.any(axis=0), shares[0], 1.0)
        limit = _means(until, now) + allowed_above(until, now, known[: t + 1] & tonight, share * chance, correlation)
        for n in np.flatnonzero(known[t] & ~base[t] & (values[t] > limit)).tolist():
            alone[t, n] = rejected[t, n] = beyond(tonight[:, 0], n, now[:, n], share[n] * chance)
        since = later | known[: t + 1] & tonight & ~base[t] & ~alone[t]
        for row, (window, past, part) in enumerate(_together(since, first, sound, shares[1:])):
            difference = _means(until, window) - _means(until, past)
            farthest = np.maximum(allowed_above(until, past, window, part * chance, correlation), least)
            worse = difference > farthest
            for n in np.flatnonzero(worse).tolist():
                worse[n] = beyond(window[:, n], n, past[:, n], part[n] * chance)
            drifting[t] |= worse
            rejected[: t + 1] |= window & worse
            if t == last:
                tested, found[row] = part > 0, worse
                together[row] = np.count_nonzero(window, axis=0) * tested
                drifts[row, tested], allowed[row, tested] = difference[tested], farthest[tested]
        if t == last:
            reference[: t + 1] = now
    return Replay(reference, alone, drifting, rejected, limit, share, together, drifts, allowed, found)


def _together(
    since: Flags, first: Flags, sound: Flags, shares: Sequence[float]
) -> Iterator[tuple[Flags, Flags, Floats]]:
    """Yield the last nights of each series, the past nights they are compared with, and the part of the chance.

    Where the windows, or both kinds of past nights, are the same, one of them has the chance of both.

    Parameters
    ----------
    since, first, sound : nights that can be together, the first reference, and nights that may be in a reference.
    shares : shares of each of `WINDOWS`.
    """
    after = np.cumsum(since[::-1], axis=0)[::-1]
    several = since[-1] & (after[0] > 1)
    windows = [since & (after <= width) & several for width in WINDOWS]
    same = (windows[0] == windows[1]).all(axis=0)
    for window, share in zip(windows, (shares[0] + shares[1] * same, shares[1] * ~same), strict=True):
        earlier = first | sound & (np.cumsum(window, axis=0) == 0)
        alike = (earlier == first).all(axis=0)
        yield window, first, share * several * np.where(alike, 1.0, 0.5)
        yield window, earlier, share * several * np.where(alike, 0.0, 0.5)


def _means(values: Floats, chosen: Flags) -> Floats:
    """Return the mean of the chosen values of each series; NaN without any."""
    count = np.count_nonzero(chosen, axis=0)
    return np.asarray(np.where(chosen, values, 0.0).sum(axis=0) / np.where(count, count, math.nan))


def allowed_above(values: Floats, past: Flags, ahead: Flags, chance: Floats, correlation: float) -> Floats:
    """Return how far the mean of some nights of each series may be above the mean of past ones, (series,).

    Infinity with fewer than `limits.CAMPAIGNS` of the past, without any of these nights, and without a chance.

    Parameters
    ----------
    values : (nights, series).
    past, ahead : (nights, series), of each series.
    chance : (series,), that the mean lies farther above if nothing has changed.
    correlation : correlation of neighbouring nights.
    """
    counts = [np.count_nonzero(chosen, axis=0) for chosen in (past, ahead)]
    gap = np.ones(values.shape[1], np.intp)
    if correlation:
        gap = np.clip(np.argmax(ahead, axis=0) - (len(values) - 1 - np.argmax(past[::-1], axis=0)), 1, _APART)
    chances, kind = np.unique(chance, return_inverse=True)
    found = np.full(values.shape[1], math.inf)
    usable = np.flatnonzero((counts[0] >= CAMPAIGNS) & (counts[1] > 0) & (chance > 0))
    shapes = np.stack([*counts, gap, kind])[:, usable]
    sizes = shapes.max(axis=1, initial=0) + 1
    codes = np.ravel_multi_index(shapes, sizes)
    for code in np.unique(codes).tolist():
        n, k, apart, one = (int(part) for part in np.unravel_index(code, sizes))
        here = usable[codes == code]
        parts = [values.T[here][chosen.T[here]].reshape(len(here), -1) for chosen in (past, ahead)]
        squares = sum(_squares(part, NEIGHBOURS if correlation else 0.0) for part in parts)
        found[here] = reach(n, k, float(chances[one]), correlation, apart) * np.sqrt(squares / (n + k - 2))
    return found


def _squares(values: Floats, neighbours: float) -> Floats:
    """Return the sum of squared deviations from the mean of each row, and of products of neighbours by their weight."""
    rest = values - values.mean(axis=1, keepdims=True)
    return np.asarray((rest**2).sum(axis=1) + neighbours * (rest[:, 1:] * rest[:, :-1]).sum(axis=1))
