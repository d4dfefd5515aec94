"""Break points of time against message size: protocol changes of a library, and mere bends.

Straight lines α + β·m describe the time, as few as the scatter allows. Dynamic programming finds the best of all ways
to cut the sizes, with a penalty for every further line (Killick, Fearnhead, Eckley, JASA 107, 2012).

- Residuals are relative to the time, in units of the scatter σ of the points: the median distance of each point from
  the line through its neighbours.
- A residual costs its square but never more than `NOISY`, and each line may leave out one point at that price: a single
  noisy point makes no break.
- A break must reduce the cost by more than `PENALTY`·log(n), which includes the choice of its place.
- The search is exact up to `EXACT` sizes. In a longer series, this number of sizes is searched, spread evenly by rank.
Each break is then placed among all sizes between its two lines, where both fit best.

A smooth curve needs several lines as well. Only a *jump* is called a protocol change: a discontinuity describes the
sizes around it better than any continuous curve with the same number of parameters. The test is that of a threshold in
a regression (Hansen, Econometrica 68, 2000). Every other break is *curvature*.

- With a jump: two lines, or one smooth curve and a step, in time against size or in their logarithms.
- Without: polynomials, and curves with a bend at any place, in both.
- The best curve with a jump must leave smaller squares than the best without, by `JUMP` times the variance of points
  around the better curve (median over all places).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from labkit.errors import DataError
from labkit.point.columns import statistic_column
from labkit.point.units import format_share, format_size, plural
from labkit.read.records import headline_statistic

MIN_SIZES = 8  # sizes
SHORTEST = 3  # sizes that one line covers at least
NOISY = 9.0  # most that one point costs, σ²
PENALTY = 6.0  # of a further line, in log(n)
LEAST = 0.005  # σ is taken as at least this part of the time
JUMP = 11.0  # σ² by which a jump must fit better than every continuous curve
_AROUND = 4  # sizes on each side of a jump that it is judged by
EXACT = 64  # sizes of a series that are searched at most
_TABLE = 1 << 18  # numbers in a table of all pieces of series that are searched together
_GROUPS = (8, 4)  # sizes, at least, of groups that bound what a line costs: few for where it fits, many for where not
_ROUNDING = 1e-6  # part of a bound that rounding may have added

_Fit = tuple[float, float, float, int | None]


@dataclass(frozen=True)
class Line:
    """Time over a range of sizes.

    Parameters
    ----------
    first, last : sizes at its ends that lie on it, B.
    alpha : at size 0, in the unit of the times.
    beta : for each B.
    left_out : a noisy size between them that the line leaves out, B; None if it goes through all.
    """

    first: int
    last: int
    alpha: float
    beta: float
    left_out: int | None = None

    def at(self, size: float) -> float:
        """Time of the line at a size."""
        return self.alpha + self.beta * size


@dataclass(frozen=True)
class Break:
    """Change of the time to another line, between two sizes.

    Parameters
    ----------
    after, before : last size on the line before, first on the next, B: the change lies between them. A size that fits
        neither line may lie between them too.
    jump : relative excess of the first size after over the line before.
    abrupt : whether the time jumps, so that the protocol changes; otherwise this is curvature.
    """

    after: int
    before: int
    jump: float
    abrupt: bool


@dataclass(frozen=True)
class Protocol:
    """Lines and break points of one series.

    Parameters
    ----------
    lines : from small to large.
    breaks : between them.
    scatter : σ of a point as a part of its time.
    sentence : the result in words.
    """

    lines: tuple[Line, ...]
    breaks: tuple[Break, ...]
    scatter: float
    sentence: str


def protocol_of(rows: pd.DataFrame, metric: str = "latency_us") -> Protocol:
    """Break points of one series of a summary: one row per size.

    Raises
    ------
    DataError
        As `breaks`; and if a size occurs twice.
    """
    ordered = rows.sort_values("message_size_B")
    return breaks(ordered["message_size_B"], ordered[statistic_column(metric, headline_statistic(ordered, metric))])


def wanting(sizes: Sequence[int]) -> str:
    """Describe how many further sizes are needed to find break points, and suggest some.

    Parameters
    ----------
    sizes : above 0 that were measured, B, in any order.

    Examples
    --------
    >>> wanting([8, 65536, 1024]).split(". ")[1]
    'Measure from 8 B to 64 KiB, each twice the one before: sizes = "8:64Ki".'
    >>> wanting([1024]).split(". ")[0]
    'Break points need 8 sizes above 0 B or more, and there is 1: 1 KiB'
    """
    known = sorted(sizes) or [1]
    ends = known[0], max(known[-1], known[0] * 2 ** (MIN_SIZES - 1))
    there = f"there {'is' if len(sizes) == 1 else 'are'} {len(sizes)}: {', '.join(map(format_size, known))}"
    return (
        f"Break points need {MIN_SIZES} sizes above 0 B or more, and {there if sizes else 'there is none'}. "
        f"Measure from {' to '.join(map(format_size, ends))}, each twice the one before: "
        f'sizes = "{":".join(format_size(end, unit="") for end in ends)}".'
    )


def breaks(sizes: ArrayLike, times: ArrayLike) -> Protocol:
    """Find where time against size changes to another line.

    Parameters
    ----------
    sizes : (n,), B, rising, none twice. Breaks are found between neighbours, so dense sizes find them closely.
    times : (n,), in any unit, above 0.

    Raises
    ------
    DataError
        If there are fewer than 8 sizes, or they do not rise, or a time is not above 0.
    """
    m, t = np.asarray(sizes, np.float64), np.asarray(times, np.float64)
    if m.ndim != 1 or m.shape != t.shape or len(m) < MIN_SIZES:
        raise DataError(
            f"There are {plural(m.size, 'size')} and {t.size} times, but break points need at least {MIN_SIZES} "
            "of each. Measure more sizes."
        )
    if not _proper(m, t):
        raise DataError(
            "Sizes must increase without repeats, and all times must be above 0. Filter the table to one series."
        )
    return _alike([(m, t)])[0]


def every(series: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[Protocol | None]:
    """Find the break points of many series together; None for a series that `breaks` would refuse.

    Parameters
    ----------
    series : sizes and times of each, as in `breaks`.
    """
    arrays = [(np.asarray(m, np.float64), np.asarray(t, np.float64)) for m, t in series]
    by_length: dict[int, list[int]] = {}
    for number, (m, t) in enumerate(arrays):
        if len(m) >= MIN_SIZES and _proper(m, t):
            by_length.setdefault(len(m), []).append(number)
    found: list[Protocol | None] = [None] * len(arrays)
    for numbers in by_length.values():
        for number, one in zip(numbers, _alike([arrays[number] for number in numbers]), strict=True):
            found[number] = one
    return found


def _proper(m: NDArray[np.float64], t: NDArray[np.float64]) -> bool:
    """Return whether sizes rise and times are above 0."""
    return bool((np.diff(m) > 0).all() and m[0] >= 0 and np.isfinite(t).all() and (t > 0).all())


def _alike(series: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> list[Protocol]:
    """Find the break points of series with equally many sizes."""
    n = len(series[0][0])
    chosen = np.linspace(0, n - 1, min(n, EXACT)).round().astype(np.intp)
    together = max(1, _TABLE // len(chosen) ** 2)
    found = []
    for begin in range(0, len(series), together):
        part = series[begin : begin + together]
        scatters = [max(_scatter(m, t), LEAST) for m, t in part]
        sizes, times = np.array([m[chosen] for m, _ in part]), np.array([t[chosen] for _, t in part])
        for (m, t), scatter, pieces in zip(part, scatters, _cut(sizes, times, np.array(scatters)), strict=True):
            found.append(_protocol(m, t, chosen, scatter, pieces))
    return found


def _protocol(
    m: NDArray[np.float64],
    t: NDArray[np.float64],
    chosen: NDArray[np.intp],
    scatter: float,
    pieces: Mapping[tuple[int, int], _Fit],
) -> Protocol:
    """Return lines and break points of a series: its chosen sizes are cut into pieces with a line each."""
    pieces, jumps = _with_jumps(m, t, chosen, scatter, pieces)
    lines = []
    for (first, end), (alpha, beta, _, noisy) in pieces.items():
        places = chosen[first:end]
        fitted = np.delete(places, [] if noisy is None else noisy)
        left_out = None if noisy is None else int(m[places[noisy]])
        lines.append(Line(int(m[fitted[0]]), int(m[fitted[-1]]), alpha, beta, left_out))
    if len(m) > len(chosen):
        for number, (one, other) in enumerate(pairwise(lines)):
            last, first = _place(m, t, scatter, one, other)
            lines[number], lines[number + 1] = replace(lines[number], last=last), replace(other, first=first)
    changes = tuple(_between(*pair, jump) for pair, jump in zip(pairwise(lines), jumps, strict=True))
    return Protocol(tuple(lines), changes, scatter, _sentence(changes, scatter, len(m)))


def _place(m: NDArray[np.float64], t: NDArray[np.float64], scatter: float, one: Line, other: Line) -> tuple[int, int]:
    """Return the last size on a line and the first on the next, where all sizes between them fit best."""
    between = (m >= one.last) & (m <= other.first)
    sizes, times = m[between], t[between]
    before, after = (
        np.minimum(((times - line.alpha - line.beta * sizes) / times / scatter) ** 2, NOISY).cumsum()
        for line in (one, other)
    )
    place = int((before[:-1] + after[-1] - after[:-1]).argmin())
    return int(sizes[place]), int(sizes[place + 1])


def _scatter(m: NDArray[np.float64], t: NDArray[np.float64]) -> float:
    """Relative scatter of single points, from each one's distance to the line through its neighbours."""
    weight = (m[2:] - m[1:-1]) / (m[2:] - m[:-2])
    off = t[1:-1] - weight * t[:-2] - (1 - weight) * t[2:]
    unit = np.sqrt(t[1:-1] ** 2 + (weight * t[:-2]) ** 2 + ((1 - weight) * t[2:]) ** 2)
    return float(np.median(np.abs(off / unit)) / 0.6745)


def _fit(m: NDArray[np.float64], t: NDArray[np.float64], scatter: float) -> _Fit:
    """Line through points by relative least squares, with or without one of them, and its cost, σ².

    Returns
    -------
    α, β and cost of the best of n + 1 lines: through all points, or through all but one, which costs `NOISY`; and the
    index of that one.
    """
    n = len(m)
    keep = np.vstack([np.ones(n), 1 - np.eye(n)]) if n > SHORTEST else np.ones((1, n))
    w = keep / t**2
    sw, sm, st = w.sum(axis=1), w @ m, w @ t
    smm, smt = w @ (m * m), w @ (m * t)
    determinant = sw * smm - sm**2
    beta = (sw * smt - sm * st) / determinant
    alpha = (st - beta * sm) / sw
    residual = ((t - alpha[:, None] - beta[:, None] * m) / t / scatter) ** 2
    cost = (np.minimum(residual, NOISY) * keep + NOISY * (1 - keep)).sum(axis=1)
    best = int(cost.argmin())
    return float(alpha[best]), float(beta[best]), float(cost[best]), best - 1 if best else None


def _cut(
    m: NDArray[np.float64], t: NDArray[np.float64], scatter: NDArray[np.float64]
) -> list[dict[tuple[int, int], _Fit]]:
    """The cheapest way to cover the sizes of each series with lines.

    It is found with a lower bound on the cost of each piece. Where the cheapest way has pieces whose lines were not
    fitted yet, these are fitted, their costs replace the bounds, and the search begins again.

    Parameters
    ----------
    m, t : (series, n).
    scatter : (series,).

    Returns
    -------
    For each series its pieces, in order: index of the first size and index behind the last one → line.
    """
    n, costs = m.shape[1], _least(m, t, scatter)
    fits: list[dict[tuple[int, int], _Fit]] = [{} for _ in m]
    found: list[dict[tuple[int, int], _Fit]] = [{} for _ in m]
    searched = np.arange(len(m))
    while len(searched):
        for one, start in zip(searched.tolist(), _starts(costs[searched], PENALTY * math.log(n)), strict=True):
            pieces = _pieces(start, n)
            new = [piece for piece in pieces if piece not in fits[one]]
            for first, end in new:
                fit = _fit(m[one, first:end], t[one, first:end], float(scatter[one]))
                fits[one][first, end] = fit
                costs[one, end, first] = math.inf if math.isnan(fit[2]) else fit[2]
            if not new:
                found[one] = {piece: fits[one][piece] for piece in pieces}
        searched = np.array([one for one in searched if not found[one]], np.intp)
    return found


def _starts(costs: NDArray[np.float64], penalty: float) -> list[list[int]]:
    """Return for each series where the last piece of the cheapest way to each place starts.

    Parameters
    ----------
    costs : (series, n + 1, n + 1), by index past the last size of a piece and of its first.
    """
    series, places = costs.shape[:2]
    cheapest, start = np.full((series, places), math.inf), np.zeros((series, places), np.intp)
    cheapest[:, 0] = 0
    for end in range(SHORTEST, places):
        whole = cheapest[:, : end - SHORTEST + 1] + costs[:, end, : end - SHORTEST + 1] + penalty
        start[:, end], cheapest[:, end] = whole.argmin(axis=1), whole.min(axis=1)
    rows: list[list[int]] = start.tolist()
    return rows


def _pieces(start: Sequence[int], end: int) -> list[tuple[int, int]]:
    """Return the pieces before an end in order, from where the last piece before each end starts."""
    pieces = []
    while end:
        pieces.append((start[end], end))
        end = start[end]
    return pieces[::-1]


def _least(m: NDArray[np.float64], t: NDArray[np.float64], scatter: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lower bounds on the cost of a line through each piece, σ²; (series, n + 1, n + 1) as in `_starts`.

    The sizes of a piece are dealt out to groups. A line costs no more in a piece than in its groups together.
    """
    series, n = m.shape
    bounds = np.zeros((series, n + 1, n + 1))
    for count in range(SHORTEST, n + 1):
        first = np.arange(n - count + 1)
        for stride in {max(1, count // size) for size in _GROUPS}:
            places = np.arange(count // stride) * stride + np.arange(n - (count // stride - 1) * stride)[:, None]
            groups = np.zeros((series, len(places) + 1))
            np.cumsum(_group(m[:, places], t[:, places], scatter[:, None, None]), axis=1, out=groups[:, 1:])
            least = (groups[:, first + stride] - groups[:, first]) * (1 - _ROUNDING)
            bounds[:, first + count, first] = np.maximum(bounds[:, first + count, first], least)
    return bounds


def _group(m: NDArray[np.float64], t: NDArray[np.float64], scatter: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least that any line costs through each group of points, (…, points), σ².

    If no point costs `NOISY`, the cost is a sum of squares. If one does, the others make up the sum; if two do, the sum
    of the others is a lower bound.
    """
    u, v, y = 1 / t / scatter, (m - m[..., :1]) / t / scatter, 1 / scatter
    uu, uv, vv, uy, vy = (each.sum(axis=-1, keepdims=True) for each in (u * u, u * v, v * v, u * y, v * y))
    determinant = uu * vv - uv**2
    residual = y - u * (vv * uy - uv * vy) / determinant - v * (uu * vy - uv * uy) / determinant
    lever = 1 - (vv * u**2 - 2 * uv * u * v + uu * v**2) / determinant  # of the squares, what stays without a point
    squares = (residual**2).sum(axis=-1)
    others = np.where(lever > _ROUNDING, squares[..., None] - residual**2 / np.maximum(lever, _ROUNDING), 0).min(
        axis=-1
    )
    return np.asarray(np.minimum(np.minimum(squares, NOISY + np.maximum(others, 0)), 2 * NOISY))


def _with_jumps(
    m: NDArray[np.float64],
    t: NDArray[np.float64],
    chosen: NDArray[np.intp],
    scatter: float,
    pieces: Mapping[tuple[int, int], _Fit],
) -> tuple[Mapping[tuple[int, int], _Fit], list[bool]]:
    """Return pieces that end where the time jumps, and whether it does so at each of their breaks.

    The cheapest lines along a curve may miss a jump: it replaces a break that is too near, or is one more.
    """
    cuts = [end for _, end in pieces][:-1]
    if not cuts:
        return pieces, []
    first = int(m[0] == 0)  # has no logarithm
    m, t = m[chosen], t[chosen]
    gains, variances = np.zeros(len(m)), []
    for k in range(first + SHORTEST, len(m) - SHORTEST + 1):
        window = slice(max(first, k - _AROUND), k + _AROUND)
        jump, continuous = _with_and_without(m[window], t[window], k - window.start)
        gains[k] = continuous - jump
        variances.append(min(jump, continuous) / (len(m[window]) - 4))
    least = JUMP * max(float(np.median(variances)), LEAST**2)
    near = SHORTEST - 1
    jumps = [k for k, gain in enumerate(gains) if gain > least and gain == gains[max(0, k - near) : k + near + 1].max()]
    kept = [cut for cut in cuts if all(abs(cut - k) > near for k in jumps)]
    ends = [0, *sorted([*kept, *jumps]), len(m)]
    fits = {(a, b): pieces.get((a, b)) or _fit(m[a:b], t[a:b], scatter) for a, b in pairwise(ends)}
    return fits, [end in jumps for end in ends[1:-1]]


def _with_and_without(m: NDArray[np.float64], t: NDArray[np.float64], place: int) -> tuple[float, float]:
    """Return the relative squared residuals of the best curve with a jump before a place, and of the best without.

    No curve has more than four parameters.
    """
    n, jumps, continuous = len(m), [], []
    for of_logs in (False, True):
        # residuals are relative to the time in both
        x, weight, target = (np.log(m), np.ones(n), np.log(t)) if of_logs else (m, 1 / t, np.ones(n))
        one = np.ones(n)
        bends = x * x if of_logs else np.sqrt(x)
        smooth = [one, x, bends, x**3 if of_logs else x * np.log(x)]
        later = (np.arange(n) >= np.arange(n)[:, None]).astype(float)  # from each size on
        hinges = [np.maximum(x - x[k], 0) for k in range(1, n - 1)]
        step = later[place]
        lines = [[one, x, later[k], later[k] * (x - x[k])] for k in range(2, n - 1)]
        with_step = [[one, x, other, step] for other in (bends, *hinges)]
        without = [smooth, *([one, x, bends, hinge] for hinge in hinges)]
        left, parts = _left([*lines, *with_step, *without], weight, target)
        jumps += [left[place - 2], *left[len(lines) : -len(without)]]
        continuous += left[-len(without) :].tolist()
        for k, (_, _, at, more) in zip(range(2, n - 1), parts, strict=False):  # lines that meet between two sizes
            if more and x[k - 1] <= x[k] - at / more <= x[k]:
                continuous.append(left[k - 2])
    return float(min(jumps)), float(min(continuous))


def _left(
    curves: Sequence[Sequence[NDArray[np.float64]]], weight: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squares that each curve, a sum of terms, leaves, and the factors of its terms."""
    design = np.array(curves).transpose(0, 2, 1) * weight[:, None]
    scale = np.linalg.norm(design, axis=1, keepdims=True)
    basis, corner = np.linalg.qr(design / scale)
    along = basis.transpose(0, 2, 1) @ target
    left = target - (basis @ along[..., None])[..., 0]
    factors = np.linalg.solve(corner, along[..., None])[..., 0] / scale[:, 0]
    return (left**2).sum(axis=1), factors


def _between(line: Line, following: Line, abrupt: bool) -> Break:
    """How the time changes from one line to the next."""
    expected = line.at(following.first)
    jump = following.at(following.first) / expected - 1 if expected > 0 else math.nan
    return Break(line.last, following.first, jump, abrupt)


def _sentence(changes: Sequence[Break], scatter: float, n: int) -> str:
    """What a reader needs to know."""
    basis = f"({plural(n, 'size')}, points scatter by {format_share(scatter)})"
    if not changes:
        return f"One line α + β·m describes all sizes {basis}: no break point."
    said = []
    if jumps := _places([one for one in changes if one.abrupt]):
        said.append(f"The time jumps {jumps} {basis}: a protocol change.")
    if bends := _places([one for one in changes if not one.abrupt]):
        basis = "" if said else f" {basis}"
        said.append(f"The time bends to another line {bends}{basis}, without a clear jump: curvature.")
    return " ".join(said)


def _places(changes: Sequence[Break]) -> str:
    """Return where breaks are and how far the time jumps there."""
    return ", ".join(
        f"between {format_size(b.after)} and {format_size(b.before)}"
        + ("" if math.isnan(b.jump) else f" ({format_share(b.jump, sign=True)})")
        for b in changes
    )
