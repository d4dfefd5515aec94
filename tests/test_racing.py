"""Racing settings: what a race decides, and how often it errs."""

import math
from itertools import pairwise

import numpy as np
import pytest

from labkit.stats.racing import Standing, standing

ROUNDS = 8


def race(
    gaps: np.ndarray, noise: np.ndarray, seed: int, *, heavy: bool = False, rounds: int = ROUNDS
) -> tuple[Standing, int]:
    """Race settings whose true values lie `gaps` apart; launches have the noise given, rounds 10 %. Count launches."""
    chance = np.random.default_rng(seed)
    table = np.full((rounds, gaps.size), np.nan)
    racing, launches = np.arange(gaps.size), 0
    for number in range(rounds):
        values = chance.standard_t(3, gaps.size) if heavy else chance.normal(size=gaps.size)
        table[number, racing] = (gaps + chance.normal(scale=0.1) + noise * values)[racing]
        launches += racing.size
        now = standing(table[: number + 1], looks=rounds - 1)
        racing = np.array(now.racing)
        if now.settled:
            break
    return now, launches


@pytest.mark.parametrize("heavy", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_best_is_stopped_at_most_as_often_as_declared(heavy: bool) -> None:
    """Twelve settings 1 % apart: the best stops in at most 5 % of 60 races, with 3 standard deviations of leeway."""
    gaps = np.concatenate([[0.0], np.full(11, 0.01)])
    lost = sum(0 in race(gaps, np.full(12, 0.05), seed, heavy=heavy)[0].stopped for seed in range(60))
    assert lost / 60 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)


def test_far_settings_stop_early_and_the_best_remains() -> None:
    """Settings that differ by factors: the best wins, for less than 40 % of all launches."""
    gaps = np.concatenate([[0.0], np.linspace(0.2, 1.5, 11)])
    outcomes = [race(gaps, np.full(12, 0.05), seed) for seed in range(20)]
    assert sum(one.leader == 0 for one, _ in outcomes) >= 18
    assert np.mean([launches for _, launches in outcomes]) < 0.4 * 12 * ROUNDS


def test_noisy_setting_does_not_stop_by_the_quiet_ones() -> None:
    """The best has five times the noise of the others: its own differences count, so it stops in at most 15 %."""
    gaps, noise = np.concatenate([[0.0], np.full(7, 0.05)]), np.concatenate([[0.2], np.full(7, 0.04)])
    assert sum(0 in race(gaps, noise, seed)[0].stopped for seed in range(40)) <= 6


def test_alike_settings_settle_without_a_loser() -> None:
    """Settings that differ by less than matters end the race; none of them stops."""
    table = np.random.default_rng(1).normal(scale=0.001, size=(4, 3))
    now = standing(table, looks=7)
    assert now.settled
    assert now.racing[0] == now.leader == int(np.argmin(table.mean(axis=0)))
    assert not now.stopped


def test_race_settles_for_a_worse_setting_at_most_as_often_as_declared() -> None:
    """One rival 4 % behind, 3 % noise: at most 5 % of 100 races end early for it, with 3 standard deviations of leeway.

    Most of them end early, for the best.
    """
    gaps = np.concatenate([[0.0, 0.04], np.full(6, 0.5)])
    outcomes = [race(gaps, np.full(8, 0.03), seed)[0] for seed in range(100)]
    wrong = sum(one.settled and one.leader != 0 for one in outcomes)
    assert wrong <= 5 + 3 * math.sqrt(100 * 0.05 * 0.95)
    assert sum(one.settled and one.leader == 0 and 1 in one.racing for one in outcomes) > 50


def test_one_round_decides_nothing() -> None:
    """A first round has no scatter, so nothing stops."""
    now = standing([[0.0, 5.0, 9.0]])
    assert now.racing == (0, 1, 2)
    assert math.isnan(now.spread)
    assert not now.settled


def test_setting_without_a_value_fails() -> None:
    """A setting that gave no value in its round races no more, and says since when."""
    now = standing([[0.0, 0.1, 0.3], [0.0, math.nan, 0.31], [0.01, math.nan, 0.3]])
    assert now.failed == {1: 1}
    assert now.leader == 0
    with pytest.raises(ValueError, match="round 0"):
        standing([[math.nan, math.nan]])


def test_kept_setting_never_stops() -> None:
    """A setting that is asked to stay races although it is behind."""
    table = [[0.5, 0.0, 0.01], [0.51, 0.0, 0.0], [0.5, 0.01, 0.0]]
    assert 0 in standing(table).stopped
    assert 0 in standing(table, kept=0).racing


def test_more_looks_make_the_race_more_cautious() -> None:
    """The declared chance is shared by all looks, so more of them move every bound outwards."""
    table = np.array([[0.0, 0.09, 0.5], [0.0, 0.1, 0.52], [0.01, 0.1, 0.5]])
    stopped = [set(standing(table, looks=looks).stopped) for looks in (2, 20, 2000, 10**6)]
    assert all(later <= earlier for earlier, later in pairwise(stopped))
    assert stopped[0] > stopped[-1]
