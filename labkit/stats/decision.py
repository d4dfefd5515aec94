"""Decide whether two sides differ, or one side is beyond a limit. No other module decides this.

A side is a set of values: one per launch, or the medians of its sessions. Three answers exist: the sides *differ*, they
are the *same* within the relevant difference, or the launches cannot say. Over all pairs of one call, the chance of any
false *differ* is at most 1 - `level`, and so is the chance of any false *same* (Holm's correction).

A limit is a number without scatter, such as the rate of a link: one side against it is a sign test (`beyond_limit`).

References
----------
.. [1] M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods, Wiley 2014, ch. 4.
.. [2] S. Wellek, Testing Statistical Hypotheses of Equivalence and Noninferiority, CRC 2010, ch. 6: the two one-sided
       rank tests.
.. [3] S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.binomial import at_least
from labkit.stats.rank_interval import LEVEL
from labkit.stats.shift import holm, paired_shifts, rank_sum_ps, rank_sums_above, shifts, signed_ranks_above

Outcome = Literal["differ", "same", "cannot say"]
Side = Literal["above", "below", "cannot say"]
RELEVANT = 0.02  # smallest relevant difference, as a fraction of the value
TOO_FEW = "there are too few launches to decide"
SMALL = "there is a difference, but it may be too small to matter"
OPEN = "the launches leave it undecided"


@dataclass(frozen=True)
class Decision:
    """Answer of the launches of two sides.

    Parameters
    ----------
    outcome : the answer.
    shift, low, high : Hodges-Lehmann shift of the other side from the base, and its interval; NaN with too few
        launches.
    p, p_adjusted : of the test for a difference, alone and by Holm's correction over the pairs.
    p_same : of the tests that the shift is within the relevant difference, by Holm's correction over the pairs.
    reason : why the launches cannot say; empty otherwise.
    """

    outcome: Outcome
    shift: float
    low: float
    high: float
    p: float
    p_adjusted: float
    p_same: float
    reason: str = ""


def decide(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    ends: Sequence[tuple[float, float]],
    level: float = LEVEL,
    tests: int = 0,
    *,
    larger: bool = False,
    paired: Sequence[bool] = (),
) -> list[Decision]:
    """Decide for each pair of sides whether they differ.

    Parameters
    ----------
    pairs : values of the launches of the base and of the other side, on the scale on which shifts are compared: the
        logarithms of times and rates, shares as they are.
    ends : for each pair, the lower and upper shift between which a difference is irrelevant, on the same scale.
    level : level of the intervals and of the answers.
    tests : pairs of the family, if it has more than are given.
    larger : whether to test only if the other side is larger (one-sided tests).
    paired : for each pair, whether values at the same position belong together, such as those of one session
            (default: no).

    Notes
    -----
    *differ*: the Mann-Whitney test rejects equality, and the shift is outside what matters. *same*: two Mann-Whitney
    tests of one side each reject that the shift reaches either end. For paired values, Wilcoxon's signed rank test of
    their differences replaces it. Launches count, or sessions of launches, never their iterations.

    Examples
    --------
    >>> base, far = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98], [2.0, 2.01, 1.99, 2.0, 2.02, 1.98]
    >>> [one.outcome for one in decide([(base, far), (base, base), ([1.0], [2.0])], [(-0.5, 0.5)] * 3)]
    ['differ', 'same', 'cannot say']
    """
    p, inside = np.full(len(pairs), math.nan), np.full(len(pairs), math.nan)
    shift, low, high = (np.full(len(pairs), math.nan) for _ in range(3))
    together = [*paired] or [False] * len(pairs)
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for place, (base, other) in enumerate(pairs):
        groups.setdefault((np.size(base), np.size(other), together[place]), []).append(place)
    for (*counts, pairwise), places in groups.items():
        if min(counts) == 0:
            continue
        one, two = (np.array([pairs[place][side] for place in places], np.float64) for side in (0, 1))
        limits = np.array([ends[place] for place in places], np.float64)
        if pairwise:
            shift[places], low[places], high[places] = paired_shifts(two - one, level)
            up = signed_ranks_above(two - one)
            p[places] = up if larger else np.minimum(1, 2 * np.minimum(up, signed_ranks_above(one - two)))
            nearer = [signed_ranks_above(two - one - limits[:, :1]), signed_ranks_above(limits[:, 1:] - (two - one))]
            inside[places] = np.maximum(*nearer)
            continue
        shift[places], low[places], high[places] = shifts(one, two, level)
        p[places] = (rank_sums_above if larger else rank_sum_ps)(one, two)
        inside[places] = _within(one, two, limits)
    adjusted, same = holm(p.tolist(), tests), holm(inside.tolist(), tests)
    family = max(tests, int(np.isfinite(p).sum()), 1)
    able = [
        enough(np.size(base), np.size(other), family, level, larger=larger, paired=pairwise)
        for (base, other), pairwise in zip(pairs, together, strict=True)
    ]
    outside = [high < one or (low > one and not larger) for (low, high), one in zip(ends, shift.tolist(), strict=True)]
    return [
        _decision(
            (float(shift[k]), float(low[k]), float(high[k])),
            (float(p[k]), adjusted[k], same[k]),
            1 - level,
            able=able[k],
            outside=outside[k],
        )
        for k in range(len(pairs))
    ]


def above(
    base: NDArray[np.float64], other: NDArray[np.float64], end: float, tests: int, level: float = LEVEL
) -> NDArray[np.bool_]:
    """Return the pairs that `decide` finds to differ if only a `larger` other side counts, (pairs,).

    Parameters
    ----------
    base, other : (pairs, launches) of each side.
    end : shift up to which a difference does not matter.
    tests : tests of the family.
    """
    if not enough(base.shape[1], other.shape[1], tests, level, larger=True):
        return np.zeros(len(base), bool)
    sure = np.asarray(shifts(base, other, level)[0] > end)
    sure[sure] = rank_sums_above(base[sure], other[sure]) * tests <= 1 - level
    return sure


def enough(n: int, m: int, tests: int = 1, level: float = LEVEL, *, larger: bool = False, paired: bool = False) -> bool:
    """Return whether n and m launches can show a difference in a family of this many tests.

    Parameters
    ----------
    larger, paired : as in `decide`.

    Examples
    --------
    >>> enough(5, 5, paired=True), enough(6, 6, paired=True)
    (False, True)
    >>> enough(4, 4), enough(3, 4), enough(6, 6, tests=23), enough(6, 6, tests=24), enough(6, 6, tests=46, larger=True)
    (True, False, True, False, True)
    """
    ways = 2**n if paired else math.comb(n + m, n)
    return ways >= max(2, tests if larger else 2 * tests) / ((1 - level) * (1 + 1e-9))


def beyond_limit(
    sides: Sequence[ArrayLike], limits: Sequence[float], level: float = LEVEL, tests: int = 0
) -> list[Side]:
    """Decide for each side whether the median of its launches is above or below a number that is known exactly.

    Parameters
    ----------
    sides : values of launches.
    limits : limits of each side. Add a relevant difference to the limit if there is one.
    level : probability that no answer is false, over all sides (Holm's correction).
    tests : sides of the family, if it has more than are given.

    Notes
    -----
    Two-sided sign test: if the median equals the limit, each launch is equally likely to be above or below it. Launches
    at the limit do not count. 6 launches are the fewest that can decide at 95 %.

    Examples
    --------
    >>> beyond_limit([[1.1] * 6], [1.0]), beyond_limit([[1.1] * 5], [1.0]), beyond_limit([[0.9, 1.1] * 6], [1.0])
    (['above'], ['cannot say'], ['cannot say'])
    """
    known = [np.ravel(np.asarray(side, np.float64)) for side in sides]
    above = [int((side > limit).sum()) for side, limit in zip(known, limits, strict=True)]
    below = [int((side < limit).sum()) for side, limit in zip(known, limits, strict=True)]
    p = [min(1.0, 2 * at_least(max(a, b), a + b, 0.5)) for a, b in zip(above, below, strict=True)]
    return [
        ("above" if a > b else "below") if adjusted <= 1 - level else "cannot say"
        for a, b, adjusted in zip(above, below, holm(p, tests), strict=True)
    ]


def _within(base: NDArray[np.float64], other: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the larger p of two tests of one side each, (pairs,): that the shift is below, and above, an end."""
    below = rank_sums_above(base, other - ends[:, :1])  # small if the shift is surely above the lower end
    above = rank_sums_above(other - ends[:, 1:], base)  # small if it is surely below the upper end
    return np.maximum(below, above)


def _decision(
    estimate: tuple[float, float, float],
    chances: tuple[float, float, float],
    alpha: float,
    *,
    able: bool,
    outside: bool,
) -> Decision:
    """Return the answer that follows from the numbers of a pair: the shift with its interval, and p of the tests.

    Parameters
    ----------
    able : whether so many launches can show a difference at all.
    outside : whether the shift is large enough to be one.
    """
    shift, low, high = estimate
    p, adjusted, same = chances
    outcome: Outcome = "cannot say"
    reason = OPEN if able else TOO_FEW
    if math.isnan(low):
        pass
    elif same <= alpha:
        outcome, reason = "same", ""
    elif able and adjusted <= alpha and outside:
        outcome, reason = "differ", ""
    elif able and adjusted <= alpha:
        reason = SMALL
    return Decision(outcome, shift, low, high, p, adjusted, same, reason)
