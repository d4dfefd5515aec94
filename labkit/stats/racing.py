"""Racing: find the best of several settings by rounds, and stop those that cannot be the best. Pure functions.

A round is one launch of every setting that still races. The value of a launch is the logarithm of its median, so that a
difference is a factor. The model: a launch's value is the setting's, plus the round's (the machine is faster or slower
for all), plus noise of one variance. After each round from the second on, every pair of settings gets Student's bound
on its difference. A setting that is certainly slower than another one stops.

The chance that the best setting ever stops is at most `error`: each of the at most (settings - 1) pairs that could stop
it is tested at each of at most (rounds - 1) looks with an equal part of `error`, one-sided (Bonferroni). The order of
looks and the end of the race therefore do not matter.

The race is settled when the chance that any other setting beats the leader by more than the relevant difference is at
most `error` (Student's t, sum over all settings, flat prior). This stops no setting, so it needs no part of the bound
above: the other settings stay undecided, and the result shows this.

Notes
-----
Successive elimination [1]_ with the test of a race among configurations [2]_ [3]_. F-race uses ranks instead, and irace
offers both. Rank tests need more rounds: among 12 settings, a sign test stops the first after 8 rounds. The variance of
a pair is the larger of the common variance and the variance of the pair's differences, so quiet settings do not stop a
noisy one.

References
----------
.. [1] E. Even-Dar, S. Mannor, Y. Mansour, Action Elimination and Stopping Conditions for the Multi-Armed Bandit and
   Reinforcement Learning Problems, J. Machine Learning Research 7 (2006), section 3.
.. [2] O. Maron, A. W. Moore, The Racing Algorithm: Model Selection for Lazy Learners, Artificial Intelligence Review
   11 (1997).
.. [3] M. Lopez-Ibanez et al., The irace package: Iterated racing for automatic algorithm configuration, Operations
   Research Perspectives 3 (2016), section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.stats.limits import student, tail

ERROR = 0.05  # chance that a race stops its best setting
ROUNDS = 8


@dataclass(frozen=True)
class Standing:
    """How a race stands after some rounds.

    Parameters
    ----------
    racing : settings that still race, by index; the one with the lowest mean first.
    stopped : setting → rounds after which it stopped.
    failed : setting → round in which it gave no value, from 0.
    rounds : rounds that count.
    behind : setting → how far its mean is above the leader's, as a factor minus 1, over the rounds it ran.
    spread : standard deviation of the noise of a launch, as a factor minus 1; NaN before the second round.
    settled : that another setting is better than the leader by more than the relevant difference has at most the
        declared chance.
    """

    racing: tuple[int, ...]
    stopped: Mapping[int, int]
    failed: Mapping[int, int]
    rounds: int
    behind: Mapping[int, float]
    spread: float
    settled: bool

    @property
    def leader(self) -> int:
        """The racing setting with the lowest mean."""
        return self.racing[0]


def standing(
    costs: ArrayLike,
    *,
    looks: int = ROUNDS - 1,
    error: float = ERROR,
    relevant: float = 0.02,
    kept: int = -1,
    grain: ArrayLike = 0.0,
) -> Standing:
    """Return the standing of a race after the rounds so far. The same values always give the same standing.

    Parameters
    ----------
    costs : (rounds, settings), the natural logarithm of each launch's median, lower is better; NaN if a setting did
        not run. A setting that still races and has NaN failed, and races no more.
    looks : most looks that the race may have, one after each round from the second on.
    error : chance that the best setting stops; also that another one is better by more than `relevant` when the race
        is settled.
    relevant : smallest relevant difference, as a fraction of the value.
    kept : setting that never stops, such as a default that others are compared with; -1 for none.
    grain : smallest difference from another setting that the clock resolves, logarithm, one or (settings,). It limits
        every launch in the same way, so more rounds do not help.

    Raises
    ------
    ValueError
        If no setting has a value in a round.

    Examples
    --------
    >>> race = standing([[0.00, 0.41, 0.02], [0.01, 0.39, 0.01], [0.00, 0.40, 0.00]])
    >>> race.racing, dict(race.stopped)
    ((0, 2), {1: 2})
    """
    table = np.atleast_2d(np.asarray(costs, np.float64))
    rounds, settings = table.shape
    racing, stopped, failed = list(range(settings)), dict[int, int](), dict[int, int]()
    settled, noise, grains = False, math.nan, np.broadcast_to(np.asarray(grain, np.float64), settings)
    for number in range(rounds):
        failed |= {one: number for one in racing if math.isnan(table[number, one])}
        racing = [one for one in racing if one not in failed]
        if not racing:
            raise ValueError(f"no setting has a value in round {number}")
        if number == 0:
            continue
        past = table[: number + 1]
        variance, freedom = _noise(past)
        noise = math.sqrt(variance)
        chance = error / (max(settings - 1, 1) * max(looks, number))
        gaps, errors = _differences(past[:, racing], variance)
        lower = gaps - student(chance, freedom) * errors - np.maximum.outer(grains[racing], grains[racing])
        out = [one for one, row in zip(racing, lower, strict=True) if row.max() > 0 and one != kept]
        stopped |= dict.fromkeys(out, number + 1)
        alive = [n for n, one in enumerate(racing) if one not in out]
        best = min(alive, key=lambda n: past[:, racing[n]].mean())
        # the true value of n is lower than the leader's by more than what is relevant
        better = [_chance(gaps[n, best] - math.log1p(-relevant), errors[n, best], freedom) for n in alive if n != best]
        settled = sum(better) <= error
        racing = [racing[n] for n in alive]
    means = {one: float(np.nanmean(table[:, one])) for one in range(settings) if not np.isnan(table[:, one]).all()}
    racing.sort(key=lambda one: means[one])
    return Standing(
        racing=tuple(racing),
        stopped=stopped,
        failed=failed,
        rounds=rounds,
        behind=_behind(table, racing[0]),
        spread=math.expm1(noise) if rounds > 1 else math.nan,
        settled=settled or len(racing) == 1,
    )


def masked(
    costs: ArrayLike,
    *,
    looks: int = ROUNDS - 1,
    error: float = ERROR,
    relevant: float = 0.02,
    grain: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """Return what a race sees of launches that are all there: NaN for a setting in the rounds after it stopped.

    Parameters
    ----------
    costs, looks, error, relevant, grain : as for `standing`.

    Examples
    --------
    >>> masked([[0.00, 0.41, 0.02], [0.01, 0.39, 0.01], [0.00, 0.40, 0.00]])[2]
    array([ 0., nan,  0.])
    """
    table = np.array(costs, np.float64)
    for rounds in range(1, len(table)):
        racing = standing(table[:rounds], looks=looks, error=error, relevant=relevant, grain=grain).racing
        out = [one for one in range(table.shape[1]) if one not in racing]
        table[rounds:, out] = np.nan
    return table


def _noise(table: NDArray[np.float64]) -> tuple[float, int]:
    """Return the variance that settings and rounds do not explain, and its degrees of freedom."""
    rows, columns = np.nonzero(~np.isnan(table))
    used = np.unique(columns)
    place = np.searchsorted(used, columns)
    design = np.zeros((rows.size, table.shape[0] + used.size))
    design[np.arange(rows.size), rows] = 1
    design[np.arange(rows.size), table.shape[0] + place] = 1
    values = table[rows, columns]
    solution, *_ = np.linalg.lstsq(design, values, rcond=None)
    freedom = rows.size - (table.shape[0] + used.size - 1)
    if freedom < 1:
        return math.inf, 1
    return float(((values - design @ solution) ** 2).sum()) / freedom, freedom


def _differences(values: NDArray[np.float64], variance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return row's setting - column's setting and its standard error, each (settings, settings), log; diagonal 0.

    Parameters
    ----------
    values : (rounds, settings) without NaN.
    variance : variance of all settings together; that of the pair counts if it is larger.
    """
    differences = values[:, :, None] - values[:, None, :]
    own = differences.var(axis=0, ddof=1) / 2
    errors = np.sqrt(2 * np.maximum(own, variance) / len(values))
    np.fill_diagonal(errors, 0.0)
    return np.asarray(differences.mean(axis=0)), np.asarray(errors)


def _chance(above: float, error: float, freedom: int) -> float:
    """Return the chance that a true difference is below 0 if one so far above it was seen."""
    if not error:
        return 0.0 if above > 0 else 1.0
    t = above / error
    return tail(t, freedom) if t >= 0 else 1 - tail(-t, freedom)


def _behind(table: NDArray[np.float64], leader: int) -> dict[int, float]:
    """Return how far each setting is behind the leader, over the rounds that both ran."""
    present = ~np.isnan(table)
    factors = {}
    for one in range(table.shape[1]):
        rows = present[:, one] & present[:, leader]
        if rows.any():
            factors[one] = math.expm1(float((table[rows, one] - table[rows, leader]).mean()))
    return factors
