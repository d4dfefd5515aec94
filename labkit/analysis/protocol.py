"""Break points of time against message size: where a library changes its protocol or algorithm.

Straight lines α + β·m describe the time, as few as the scatter allows. A change from eager to rendezvous shows as a
jump, a faster path for large messages as another slope. Dynamic programming finds the best of all ways to cut the
sizes, with a penalty for every further line (Killick, Fearnhead, Eckley, JASA 107, 2012).

- Residuals are relative to the time and are measured in units of the scatter σ of the points, which comes from how far
  each lies off the line through its neighbours (median, so that breaks and noisy points do not count).
- A residual costs its square but never more than `NOISY`, and each line may leave out one point at that price: a single
  noisy point makes no break.
- A break must reduce the cost by more than `PENALTY`·log(n), which includes the choice of its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from labkit.columns import statistic_column
from labkit.errors import DataError
from labkit.records import headline_statistic
from labkit.units import format_share, format_size, plural

FEWEST = 8  # sizes
SHORTEST = 3  # sizes that one line covers at least
NOISY = 9.0  # most that one point costs, σ²
PENALTY = 6.0  # of a further line, in log(n)
LEAST = 0.005  # σ is taken as at least this part of the time


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
        """Time the line gives for a size."""
        return self.alpha + self.beta * size


@dataclass(frozen=True)
class Break:
    """Change of the time to another line, between two sizes.

    Parameters
    ----------
    after, before : last size on the line before, first on the next, B: the change lies between them. A size that fits
        neither line may lie between them too.
    jump : how much longer the first size after takes than the line before says, as a part of that.
    slope : of the line after over that of the line before; NaN where the latter is not positive.
    """

    after: int
    before: int
    jump: float
    slope: float


@dataclass(frozen=True)
class Protocol:
    """Lines and break points of one series.

    Parameters
    ----------
    lines : from small to large.
    breaks : between them.
    scatter : σ of a point as a part of its time.
    sentence : what this says.
    """

    lines: tuple[Line, ...]
    breaks: tuple[Break, ...]
    scatter: float
    sentence: str


def of(rows: pd.DataFrame, metric: str = "latency_us") -> Protocol:
    """Break points of one series of a summary: one row per size.

    Raises
    ------
    DataError
        As `breaks`; and if a size occurs twice.
    """
    ordered = rows.sort_values("message_size_B")
    return breaks(ordered["message_size_B"], ordered[statistic_column(metric, headline_statistic(ordered, metric))])


def wanting(sizes: Sequence[int]) -> str:
    """Say how many sizes are missing to find break points, and which would do.

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
    ends = known[0], max(known[-1], known[0] * 2 ** (FEWEST - 1))
    there = f"there {'is' if len(sizes) == 1 else 'are'} {len(sizes)}: {', '.join(map(format_size, known))}"
    return (
        f"Break points need {FEWEST} sizes above 0 B or more, and {there if sizes else 'there is none'}. "
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
    if m.ndim != 1 or m.shape != t.shape or len(m) < FEWEST:
        raise DataError(
            f"There are {plural(m.size, 'size')} and {t.size} times, but break points need at least {FEWEST} of each. "
            "Measure more sizes."
        )
    if not ((np.diff(m) > 0).all() and m[0] >= 0 and np.isfinite(t).all() and (t > 0).all()):
        raise DataError(
            "Sizes must increase without repeats, and all times must be above 0. Filter the table to one series."
        )
    scatter = max(_scatter(m, t), LEAST)
    lines = []
    for first, end in _cut(m, t, scatter):
        alpha, beta, _, noisy = _fit(m[first:end], t[first:end], scatter)
        fitted = np.delete(m[first:end], [] if noisy is None else noisy)
        left_out = None if noisy is None else int(m[first + noisy])
        lines.append(Line(int(fitted[0]), int(fitted[-1]), alpha, beta, left_out))
    changes = tuple(_between(one, other) for one, other in pairwise(lines))
    return Protocol(tuple(lines), changes, scatter, _sentence(changes, scatter, len(m)))


def _scatter(m: NDArray[np.float64], t: NDArray[np.float64]) -> float:
    """Relative scatter of single points, from each one's distance to the line through its neighbours."""
    weight = (m[2:] - m[1:-1]) / (m[2:] - m[:-2])
    off = t[1:-1] - weight * t[:-2] - (1 - weight) * t[2:]
    unit = np.sqrt(t[1:-1] ** 2 + (weight * t[:-2]) ** 2 + ((1 - weight) * t[2:]) ** 2)
    return float(np.median(np.abs(off / unit)) / 0.6745)


def _fit(m: NDArray[np.float64], t: NDArray[np.float64], scatter: float) -> tuple[float, float, float, int | None]:
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


def _cut(m: NDArray[np.float64], t: NDArray[np.float64], scatter: float) -> list[tuple[int, int]]:
    """The cheapest way to cover the sizes with lines: index of the first size of each, and past its last."""
    n, penalty = len(m), PENALTY * math.log(len(m))
    cheapest, start = [0.0] + [math.inf] * n, [0] * (n + 1)
    for end in range(SHORTEST, n + 1):
        for first in range(end - SHORTEST + 1):
            if math.isinf(cheapest[first]):
                continue
            cost = cheapest[first] + _fit(m[first:end], t[first:end], scatter)[2] + penalty
            if cost < cheapest[end]:
                cheapest[end], start[end] = cost, first
    pieces, end = [], n
    while end:
        pieces.append((start[end], end))
        end = start[end]
    return pieces[::-1]


def _between(line: Line, following: Line) -> Break:
    """How the time changes from one line to the next."""
    expected = line.at(following.first)
    slope = following.beta / line.beta if line.beta > 0 else math.nan
    return Break(
        line.last, following.first, following.at(following.first) / expected - 1 if expected > 0 else math.nan, slope
    )


def _sentence(changes: Sequence[Break], scatter: float, n: int) -> str:
    """What a reader needs to know."""
    basis = f"({plural(n, 'size')}, points scatter by {format_share(scatter)})"
    if not changes:
        return f"One line α + β·m describes all sizes {basis}: no break point."
    places = [
        f"between {format_size(b.after)} and {format_size(b.before)}"
        + ("" if math.isnan(b.jump) else f" ({format_share(b.jump, sign=True)})")
        for b in changes
    ]
    return f"The time changes to another line {', '.join(places)} {basis}."
