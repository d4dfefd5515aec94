"""Whether two sides differ: the one decision that comparisons, guidelines, contrasts and reports ask for.

A side is the values of its launches. Three answers exist: the sides *differ*, they are the *same* within what matters,
or the launches cannot say. Over all pairs that are decided together, the chance of any false *differ* and the chance of
any false *same* are each at most 1 - `level` (Holm's correction of each family).

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

from labkit.stats.rank_interval import LEVEL
from labkit.stats.shift import holm, rank_sum_ps, rank_sums_above, shifts

Outcome = Literal["differ", "same", "cannot say"]
TOO_FEW = "too few launches for an interval"
SMALL = "there is a difference, but it may be too small to matter"
OPEN = "the launches decide neither for a difference nor against one"


@dataclass(frozen=True)
class Decision:
    """What the launches of two sides say.

    Parameters
    ----------
    outcome : the answer.
    shift, low, high : Hodges-Lehmann shift of the other side from the base, and its interval; NaN with too few
        launches.
    p, p_adjusted : of the test for a difference, alone and by Holm's correction over the pairs.
    p_same : of the tests that the shift is within what matters, by Holm's correction over the pairs.
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
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], ends: Sequence[tuple[float, float]], level: float = LEVEL
) -> list[Decision]:
    """Decide for each pair of sides whether they differ.

    Parameters
    ----------
    pairs : values of the launches of the base and of the other side, on the scale on which shifts are compared: the
        logarithms of times and rates, shares as they are.
    ends : of each pair, the shifts between which a difference does not matter, on the same scale.
    level : of the intervals and of the answers.

    Notes
    -----
    *differ*: the Mann-Whitney test rejects equality, and the shift is outside what matters. *same*: two Mann-Whitney
    tests of one side each reject that the shift reaches either end. Launches count, never their iterations.

    Examples
    --------
    >>> base, far = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98], [2.0, 2.01, 1.99, 2.0, 2.02, 1.98]
    >>> [one.outcome for one in decide([(base, far), (base, base), ([1.0], [2.0])], [(-0.5, 0.5)] * 3)]
    ['differ', 'same', 'cannot say']
    """
    p, inside = np.full(len(pairs), math.nan), np.full(len(pairs), math.nan)
    shift, low, high = (np.full(len(pairs), math.nan) for _ in range(3))
    groups: dict[tuple[int, int], list[int]] = {}
    for place, (base, other) in enumerate(pairs):
        groups.setdefault((np.size(base), np.size(other)), []).append(place)
    for counts, places in groups.items():
        if min(counts) == 0:
            continue
        one, two = (np.array([pairs[place][side] for place in places], np.float64) for side in (0, 1))
        shift[places], low[places], high[places] = shifts(one, two, level)
        p[places] = rank_sum_ps(one, two)
        inside[places] = _within(one, two, np.array([ends[place] for place in places], np.float64))
    adjusted, same = holm(p.tolist()), holm(inside.tolist())
    return [
        _decision(
            (float(shift[k]), float(low[k]), float(high[k])), float(p[k]), adjusted[k], same[k], ends[k], 1 - level
        )
        for k in range(len(pairs))
    ]


def _within(base: NDArray[np.float64], other: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the larger p of two tests of one side each, (pairs,): that the shift is below, and above, an end."""
    below = rank_sums_above(base, other - ends[:, :1])  # small if the shift is surely above the lower end
    above = rank_sums_above(other - ends[:, 1:], base)  # small if it is surely below the upper end
    return np.maximum(below, above)


def _decision(
    estimate: tuple[float, float, float],
    p: float,
    adjusted: float,
    same: float,
    ends: tuple[float, float],
    alpha: float,
) -> Decision:
    """Return the answer that follows from the numbers of a pair; the estimate is the shift with its interval."""
    shift, low, high = estimate
    outcome: Outcome = "cannot say"
    reason = OPEN
    if math.isnan(low):
        reason = TOO_FEW
    elif same <= alpha:
        outcome, reason = "same", ""
    elif adjusted <= alpha and not ends[0] <= shift <= ends[1]:
        outcome, reason = "differ", ""
    elif adjusted <= alpha:
        reason = SMALL
    return Decision(outcome, shift, low, high, p, adjusted, same, reason)
