"""Whether two sets of launches differ: test, shift with its interval, deciles, and a verdict for each point.

Each launch contributes one value, usually its median. Launches of one session resemble each other, so a side with six
sessions or more counts each session once, by its median. Rank tests assume no distribution; `docs/statistics.md` has
the measured error rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, permutations
from operator import itemgetter
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.point.columns import METRICS
from labkit.point.units import format_number
from labkit.stats import sessions as grouping
from labkit.stats.decision import RELEVANT, Decision, decide, enough
from labkit.stats.rank_interval import LEVEL
from labkit.stats.shift import least_launches, paired_shifts, shifts, trends

FASTER, SLOWER, SAME, UNDECIDED = "faster", "slower", "same", "not enough data"
BETWEEN = "differs between sessions"  # of sides that were measured one after the other
BETTER, WORSE = "better", "worse"  # of shares
INTERLEAVED, BLOCKED, MIXED, UNKNOWN = "interleaved", "blocked", "partly interleaved", "unknown"
OVER_LAUNCHES, OVER_SESSIONS, PAIRED = "launches", "sessions", "paired sessions"  # what a judgement counts
OF_ONE_SIDE = "sessions of one side"
MOST = 1000  # launches per side; more are not proposed
_LARGEST = 709.0  # largest logarithm whose exponential is still a float
_POWER = 0.8  # chance to decide with the launches proposed
_EFFICIENCY = math.pi / 3  # launches that a rank test needs for each that a t test needs, of normal values


@dataclass(frozen=True)
class Launches:
    """Values of one side at a point.

    Parameters
    ----------
    values : values of each launch, in the metric's unit.
    starts : when each launch started, ISO 8601; empty if unknown.
    deciles : (launches, 9), deciles of the iterations, the slow end last; None without samples.
    placed : session of the schedule in which each launch ran; empty without a schedule.
    """

    values: Sequence[float]
    starts: Sequence[str] = ()
    deciles: NDArray[np.float64] | None = None
    placed: Sequence[str] = ()

    @cached_property
    def sessions(self) -> list[int]:
        """Session of each launch, numbered from 0 in the order of time; nothing if unknown, or below six launches."""
        if not self.timed or len(self.values) < stats.LAUNCHES:
            return []
        return grouping.of_launches(self.starts, self.placed)

    @cached_property
    def many(self) -> bool:
        """Whether there are six sessions or more, so that each counts once."""
        if not self.timed or len(self.values) < stats.LAUNCHES:
            return False
        if not any(self.placed) and grouping.brief(self.starts, stats.LAUNCHES):  # saves the sessions of many points
            return False
        return len(set(self.sessions)) >= stats.LAUNCHES

    @cached_property
    def units(self) -> Sequence[float]:
        """Independent values: medians of six sessions or more in the order of time, else the launches."""
        if not self.many:
            return self.values
        medians = stats.of_sessions(np.asarray(self.values, np.float64)[:, None], np.array(self.sessions))
        return [float(one) for one in medians[:, 0]]

    @cached_property
    def timed(self) -> bool:
        """Whether the start of each launch is known."""
        return bool(self.starts) and all(self.starts)

    @cached_property
    def in_order(self) -> Sequence[float]:
        """Values in the order of their starts, or unchanged if the starts are unknown."""
        if not self.timed:
            return self.values
        return [value for _, value in sorted(zip(self.starts, self.values, strict=True), key=itemgetter(0))]


def shared(one: Launches, other: Launches) -> bool:
    """Return whether two sides have six sessions or more, and each session has launches of both."""
    if not (one.many and other.many):
        return False
    placed = [*(one.placed or [""] * len(one.starts)), *(other.placed or [""] * len(other.starts))]
    return grouping.of_launches([*one.starts, *other.starts], placed) == [*one.sessions, *other.sessions]


@dataclass(frozen=True)
class Pair:
    """Two sides of a point, each with one launch or more.

    Parameters
    ----------
    base, other : the two sides.
    metric : as in `labkit.point.columns.METRICS`.
    """

    base: Launches
    other: Launches
    metric: str = "latency_us"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Verdict of the launches on a pair.

    Parameters
    ----------
    verdict : faster, slower, same, differs between sessions, not enough data; better or worse for a share.
    base, value : medians over launches of both sides, or over their sessions, in the metric's unit.
    shift, shift_low, shift_high : Hodges-Lehmann shift from the base and its 95 % interval, in the metric's unit.
    ratio, ratio_low, ratio_high : the same as a factor; NaN for shares and for values that are not positive.
    p, p_adjusted : of the Mann-Whitney test, alone and by Holm's correction over all pairs.
    p_same : of the tests that the shift is within the relevant difference, by Holm's correction over all pairs.
    deciles : ratio of each decile of the iterations to the base's (medians over launches).
    design : order of the launches.
    reason : why nothing was decided; empty otherwise.
    launches_needed : launches per side that would decide with 80 % power; 0 if decided, None above `MOST`.
    basis : what counts as independent: ``launches``, ``sessions`` (their medians), ``paired sessions`` (differences
        within sessions), or ``sessions of one side``, if the other has launches of fewer than six sessions.
    """

    verdict: str
    base: float
    value: float
    shift: float
    shift_low: float
    shift_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    p: float
    p_adjusted: float
    p_same: float
    deciles: tuple[float, ...] = field(default=())
    design: str = UNKNOWN
    reason: str = ""
    launches_needed: int | None = 0
    basis: str = OVER_LAUNCHES

    @property
    def times(self) -> str:
        """The ratio, rounded to the digits of its interval."""
        return format_number(self.ratio, width=self.ratio_high - self.ratio_low)


def design(starts: Sequence[Sequence[str]]) -> str:
    """Return in which order the launches of several sides started.

    Returns
    -------
    ``interleaved`` if the sides took turns, ``blocked`` if each side ended before the next began, ``partly
    interleaved`` between these, ``unknown`` without start times or with a single launch per side.
    """
    least = min((len(side) for side in starts), default=0)
    if least < 2 or len(starts) < 2 or not all(start for side in starts for start in side):
        return UNKNOWN
    order = [side for _, side in sorted((start, n) for n, side in enumerate(starts) for start in side)]
    changes = sum(one != other for one, other in pairwise(order))
    if changes == len(starts) - 1:
        return BLOCKED
    return INTERLEAVED if changes >= least * (len(starts) - 1) else MIXED


def judge(
    pairs: Sequence[Pair], *, relevant: float = RELEVANT, level: float = LEVEL, tests: int = 0, larger: bool = False
) -> list[Judgement]:
    """Judge pairs of launches by `labkit.stats.decision.decide`.

    Parameters
    ----------
    relevant : smallest relevant difference, as a fraction of the value; of a share, 0.02 is 2 percentage points.
    level : level of the intervals and of the verdicts.
    tests : pairs of the family, if it has more than are given.
    larger : whether to test only if the other side is larger (one-sided tests).

    Notes
    -----
    If one side was measured before the other, they *differ between sessions*: a change of the machine in between would
    look the same, so the verdict is neither faster nor slower. The same applies to a side with one session against a
    side with six or more.

    Sides that share six sessions or more are paired by session, if this many pairs can decide in this family. Otherwise
    the medians of their sessions form two groups; the common state of a session makes this test conservative.
    """
    family = max(tests, len(pairs))
    scaled = [_scaled(pair, relevant, family, level, larger=larger) for pair in pairs]
    decisions = decide(
        [one.values for one in scaled],
        [one.ends for one in scaled],
        level,
        tests,
        larger=larger,
        paired=[one.basis == PAIRED for one in scaled],
    )
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for place, (pair, one) in enumerate(zip(pairs, scaled, strict=True)):
        groups.setdefault((len(pair.base.units), len(pair.other.units), one.basis == PAIRED), []).append(place)
    judged = dict[int, Judgement]()
    for (_, _, paired), places in groups.items():
        some = [pairs[place] for place in places]
        base, other = _values(some)
        absolute = paired_shifts(other - base, level) if paired else shifts(base, other, level)
        medians = [np.median(side, axis=1).tolist() for side in (base, other)]
        sides = [np.array([scaled[place].values[side] for place in places]) for side in (0, 1)]
        spread = (_within_pairs(*sides) if paired else scatter(*sides)).tolist()
        numbers = zip(
            *medians, zip(*(part.tolist() for part in absolute), strict=True), spread, _deciles(some), strict=True
        )
        for place, of_pair in zip(places, numbers, strict=True):
            judged[place] = _judged(pairs[place], scaled[place], decisions[place], of_pair, family, level)
    return [judged[place] for place in range(len(pairs))]


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A pair on the scale on which its shift is judged.

    Parameters
    ----------
    values : values of both sides as logarithms; shares, and values that are not positive, as they are.
    ends : of the relevant difference, on that scale.
    ratios : whether the scale is that of logarithms.
    basis : as in `Judgement`.
    """

    values: tuple[NDArray[np.float64], NDArray[np.float64]]
    ends: tuple[float, float]
    ratios: bool
    basis: str


def _basis(pair: Pair, tests: int, level: float, *, larger: bool) -> str:
    """Return what counts as independent in a pair of a family of this many tests."""
    many = [side.many for side in _sides(pair)]
    if not all(many):
        return OF_ONE_SIDE if any(many) else OVER_LAUNCHES
    n, m = (len(side.units) for side in _sides(pair))
    able = n == m and enough(n, m, tests, level, larger=larger, paired=True)
    return PAIRED if able and shared(pair.base, pair.other) else OVER_SESSIONS


def _scaled(pair: Pair, relevant: float, tests: int, level: float, *, larger: bool) -> _Scaled:
    base, other = (np.asarray(side.units, np.float64) for side in _sides(pair))
    basis = _basis(pair, tests, level, larger=larger)
    share = METRICS[pair.metric].kind in ("share", "loss")
    if share or not ((base > 0).all() and (other > 0).all()):
        return _Scaled((base, other), (-100 * relevant, 100 * relevant), ratios=False, basis=basis)
    ends = math.log1p(-relevant), math.log1p(relevant)
    return _Scaled((np.log(base), np.log(other)), ends, ratios=True, basis=basis)


def _values(pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of pairs with equally many units, (pairs, units) of the base and of the other."""
    base, other = (
        np.array([side.units for side in sides], np.float64) for sides in zip(*map(_sides, pairs), strict=True)
    )
    return base, other


def _sides(pair: Pair) -> tuple[Launches, Launches]:
    return pair.base, pair.other


def _judged(
    pair: Pair,
    scaled: _Scaled,
    decision: Decision,
    numbers: tuple[float, float, tuple[float, float, float], float, tuple[float, ...]],
    tests: int,
    level: float,
) -> Judgement:
    """Judge one pair of several, from its medians, absolute shift, scatter and deciles."""
    base, value, absolute, spread, deciles = numbers
    share = METRICS[pair.metric].kind in ("share", "loss")
    ratio = (math.nan,) * 3
    if scaled.ratios:
        ratio = (_exp(decision.shift), _exp(decision.low), _exp(decision.high))
    order = design((pair.base.starts, pair.other.starts))
    verdict, reason = UNDECIDED, decision.reason
    if not share and not scaled.ratios:
        reason = "values that are not positive have no ratio"
    elif decision.outcome == "same":
        verdict = SAME
    elif decision.outcome == "differ":
        apart = order == BLOCKED or one_moment(pair)
        verdict = BETWEEN if apart else _direction(pair.metric, decision.shift)
    needed: int | None = 0
    if verdict == UNDECIDED and (share or scaled.ratios):
        paired = scaled.basis == PAIRED
        needed = launches_needed(decision.shift, spread, scaled.ends, tests, level, paired=paired)
        of_unit = max(len(side.values) / max(len(side.units), 1) for side in _sides(pair))
        needed = needed and (math.ceil(needed * of_unit) if needed * of_unit <= MOST else None)
    return Judgement(
        verdict=verdict,
        base=base,
        value=value,
        shift=absolute[0],
        shift_low=absolute[1],
        shift_high=absolute[2],
        ratio=ratio[0],
        ratio_low=ratio[1],
        ratio_high=ratio[2],
        p=decision.p,
        p_adjusted=decision.p_adjusted,
        p_same=decision.p_same,
        deciles=deciles,
        design=order,
        reason=reason,
        launches_needed=needed,
        basis=scaled.basis,
    )


def one_moment(pair: Pair) -> bool:
    """Return whether one side has launches of a single session only, and the other has six sessions or more."""
    return any(one.many and len(set(other.sessions)) == 1 for one, other in permutations(_sides(pair)))


def _exp(logarithm: float) -> float:
    """Return a factor from its logarithm; infinity beyond the largest float."""
    return math.inf if logarithm > _LARGEST else math.exp(logarithm)


def _direction(metric: str, change: float) -> str:
    """Return the word for a change of a metric."""
    definition = METRICS[metric]
    better = (change < 0) == (definition.better == "lower")
    if definition.kind in ("share", "loss"):
        return BETTER if better else WORSE
    return FASTER if better else SLOWER


def drifts(sides: Sequence[Launches]) -> int:
    """Return how many sides rise or fall in the order of their starts (Kendall's test over their units, 5 %)."""
    groups: dict[int, list[Sequence[float]]] = {}
    for one in sides:
        if one.timed:
            groups.setdefault(len(one.units), []).append(one.units if one.many else one.in_order)
    return sum(int((trends(np.array(rows, np.float64))[1] <= 1 - LEVEL).sum()) for rows in groups.values())


def _deciles(pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
    """Return the medians over launches of every decile, as factors of the base's; empty without samples."""
    out: list[tuple[float, ...]] = [()] * len(pairs)
    groups: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(pairs):
        base, other = pair.base.deciles, pair.other.deciles
        if base is not None and other is not None and len(base) and len(other):
            groups.setdefault((len(base), len(other)), []).append(place)
    for places in groups.values():
        below, above = (
            np.nanmedian(np.array([side.deciles for side in sides]), axis=1)
            for sides in zip(*(_sides(pairs[place]) for place in places), strict=True)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(below > 0, above / below, math.nan)
        for place, row in zip(places, ratios.tolist(), strict=True):
            out[place] = tuple(row)
    return out


def scatter(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of launches within both sides, (pairs,); NaN if neither has two."""
    freedom = one.shape[1] + other.shape[1] - 2
    if freedom < 1:
        return np.full(len(one), math.nan)
    sums = [((side - side.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for side in (one, other)]
    return np.asarray(np.sqrt((sums[0] + sums[1]) / freedom), np.float64)


def _within_pairs(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation that a unit of either side has beside what its pair shares, (pairs,)."""
    return np.asarray((other - one).std(axis=1, ddof=1) / math.sqrt(2), np.float64)


def launches_needed(
    change: float,
    spread: float,
    ends: tuple[float, float],
    tests: int = 1,
    level: float = LEVEL,
    *,
    paired: bool = False,
) -> int | None:
    """Estimate how many launches (or sessions) per side decide with 80 % power, if shift and scatter stay the same.

    Parameters
    ----------
    change : shift that was estimated, as a logarithm (or in percentage points).
    spread : standard deviation of the launches of a side, in the same unit; NaN if unknown.
    ends : of the relevant difference.
    tests : pairs that Holm's correction counts.
    paired : whether differences within sessions decide.

    Returns
    -------
    The number, at least the minimum for the correction; None if more than `MOST`.

    Notes
    -----
    Normal approximation for the sum of ranks: n = 2 (π/3) (z s / d)², where s is the scatter. d is the shift if that is
    larger than the relevant difference, else the distance to the relevant difference.
    """
    least = least_launches(tests, level, paired=paired)
    if math.isnan(spread):
        return least
    z = NormalDist().inv_cdf
    if ends[0] <= change <= ends[1]:
        steps = [(z((1 + _POWER) / 2) - z((1 - level) / tests), min(change - ends[0], ends[1] - change))]
    else:
        beyond = ends[0] - change if change < 0 else change - ends[1]
        steps = [(z(_POWER) - z((1 - level) / 2 / tests), abs(change)), (z(_POWER), beyond)]
    needed = float(least)
    for quantile, distance in steps:
        needed = max(needed, 2 * _EFFICIENCY * (quantile * spread / distance) ** 2 if distance > 0 else math.inf)
    return math.ceil(needed) if needed <= MOST else None
