"""The one decision whether two sides differ: its errors over tables of points with known truth."""

import numpy as np
import pytest

from labkit.stats.decision import SMALL, TOO_FEW, Decision, decide

ENDS = (float(np.log1p(-0.02)), float(np.log1p(0.02)))


def tables(effect: float, scatter: float, launches: int, count: int = 60, points: int = 20) -> list[list[Decision]]:
    """Decisions of tables of points, all of which differ by a factor."""
    chance = np.random.default_rng(5)
    return [
        decide(
            [
                (chance.normal(0, scatter, launches), chance.normal(np.log(effect), scatter, launches))
                for _ in range(points)
            ],
            [ENDS] * points,
        )
        for _ in range(count)
    ]


def test_a_shift_just_above_what_matters_is_rarely_called_the_same_in_a_whole_table() -> None:
    for scatter in (0.005, 0.01):
        wrong = [any(one.outcome == "same" for one in table) for table in tables(1.0201, scatter, 12)]
        assert np.mean(wrong) <= 0.12, "5 % of 60 tables, and what chance adds"


def test_equal_sides_are_called_the_same_and_hardly_ever_different() -> None:
    made = tables(1.0, 0.005, 12)
    assert np.mean([one.outcome == "same" for table in made for one in table]) > 0.95
    assert sum(one.outcome == "differ" for table in made for one in table) == 0


def test_a_clear_shift_is_found() -> None:
    assert np.mean([one.outcome == "differ" for table in tables(1.1, 0.01, 8) for one in table]) > 0.95


def test_few_launches_decide_nothing() -> None:
    for base, other in (([1.0], [9.0]), ([1.0, 1.1], [9.0, 9.1]), ([], [1.0])):
        [one] = decide([(base, other)], [ENDS])
        assert (one.outcome, one.reason) == ("cannot say", TOO_FEW)


def test_a_difference_that_may_be_too_small_is_no_difference() -> None:
    base = np.linspace(0, 0.001, 12)
    [one] = decide([(base, base + 0.019)], [ENDS])
    assert one.outcome == "same"
    [one] = decide([(base * 20, base * 20 + 0.0195)], [ENDS])
    assert (one.outcome, one.reason) == ("cannot say", SMALL)


def test_the_p_are_those_of_the_mann_whitney_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    chance = np.random.default_rng(2)
    base, other = chance.normal(0, 1, 9), chance.normal(0.5, 1, 7)
    [one] = decide([(base, other)], [(-1.0, 1.0)])
    assert one.p == pytest.approx(stats.mannwhitneyu(base, other, method="exact").pvalue)
    below = stats.mannwhitneyu(base, other + 1.0, alternative="less", method="exact").pvalue
    above = stats.mannwhitneyu(other - 1.0, base, alternative="less", method="exact").pvalue
    assert one.p_same == pytest.approx(max(below, above))
