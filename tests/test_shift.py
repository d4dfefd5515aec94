"""Rank tests: against counting out, published tables and their own level."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.stats import shift

few = st.lists(st.integers(0, 6), min_size=1, max_size=5)


@given(few, few)
def test_rank_sum_counts_every_assignment(first: list[int], second: list[int]) -> None:
    """The p is the share of all assignments whose rank sum is as far from its expectation, ties included."""
    ranks = shift.midranks([*first, *second])
    n, expected = len(first), len(first) * (len(ranks) + 1) / 2
    far = abs(ranks[:n].sum() - expected)
    sums = [ranks[list(chosen)].sum() for chosen in combinations(range(len(ranks)), n)]
    share = np.mean([abs(one - expected) >= far - 1e-9 for one in sums])
    assert shift.rank_sum_p(first, second) == pytest.approx(share)


def test_rank_sum_published_example() -> None:
    """Hollander and Wolfe, example 4.1 (tritiated water): one-sided p = .127 for 10 and 5 values."""
    at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    assert shift.rank_sum_p(at_term, early) / 2 == pytest.approx(0.127, abs=0.0005)


def test_rank_sum_meets_its_normal_approximation() -> None:
    """At the limit of counting, both agree."""
    chance = np.random.default_rng(1)
    a, b = chance.normal(size=50), chance.normal(0.4, size=50)
    assert shift.rank_sum_p(a, b) == pytest.approx(shift.rank_sum_p(a, [*b, float(np.median(b))]), rel=0.1)


def test_several_groups_count_every_arrangement() -> None:
    """For two groups Kruskal-Wallis is Mann-Whitney; of three far groups of 2, 6 of 90 arrangements are as far."""
    assert shift.several_p([[1, 2, 5], [3, 4, 6, 7]]) == pytest.approx(shift.rank_sum_p([1, 2, 5], [3, 4, 6, 7]))
    assert shift.several_p([[1, 2], [3, 4], [5, 6]]) == pytest.approx(6 / 90)
    assert shift.several_p([range(6), range(10, 16), range(20, 26)]) < 1e-4, "drawn arrangements"
    assert shift.several_p([[1.0, 1.0], [1.0], [1.0, 1.0]]) == 1


def test_several_groups_keep_their_level() -> None:
    """Equal groups: at most 5 % of trials below 5 %, but for the scatter of 400 trials."""
    chance = np.random.default_rng(2)
    alarms = sum(shift.several_p(chance.normal(size=(3, 6))) <= 0.05 for _ in range(400))
    assert alarms <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_and_keeps_the_order(p: list[float]) -> None:
    adjusted = shift.holm(p)
    assert all(new >= old for new, old in zip(adjusted, p, strict=True))
    assert all(new <= min(1, old * len(p)) + 1e-12 for new, old in zip(adjusted, p, strict=True))
    assert [adjusted[place] for place in np.argsort(p, kind="stable")] == sorted(adjusted)


def test_holm_passes_over_what_was_not_tested() -> None:
    adjusted = shift.holm([0.02, math.nan, 0.01])
    assert adjusted[0] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.02)


@given(st.integers(4, 9), st.integers(4, 9), st.integers(0, 10_000))
def test_interval_agrees_with_the_test(n: int, m: int, seed: int) -> None:
    """0 lies outside of the interval exactly if the test rejects that the groups are alike."""
    chance = np.random.default_rng(seed)
    a, b = chance.normal(size=n), chance.normal(1.5, size=m)
    _, low, high = shift.shift(a, b)
    assert (low <= 0 <= high) == (shift.rank_sum_p(a, b) > 0.05)


def test_shift_published_example() -> None:
    """Hollander and Wolfe, example 4.3: shift -.305, 96 % interval from -.76 to .15."""
    at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    assert shift.shift(at_term, early, 0.96) == pytest.approx((-0.305, -0.76, 0.15))


def test_too_few_launches_have_no_interval() -> None:
    centre, low, high = shift.shift([1, 2, 3], [4, 5, 6])
    assert centre == 3
    assert math.isnan(low)
    assert math.isnan(high)


@given(st.integers(4, 60), st.integers(4, 60))
def test_interval_of_many_launches_is_inside_the_differences(n: int, m: int) -> None:
    centre, low, high = shift.shift(np.arange(n), np.arange(m) + 0.5)
    assert low <= centre <= high


def test_trend() -> None:
    assert shift.trend([1, 3, 2]) == (pytest.approx(1 / 3), pytest.approx(1))
    assert shift.trend([4, 3, 2, 1]) == (-1, pytest.approx(2 / 24))
    assert shift.trend([5, 5, 5, 5]) == (0, pytest.approx(1))
    assert shift.trend([1.0]) == (0, 1)


def test_sides_of_very_different_lengths_are_compared() -> None:
    """One launch against thousands: the table is that of the smaller side, whatever the order of the sides."""
    many = np.random.default_rng(1).normal(size=2500)
    assert shift.rank_sum_p(many, [9.0]) == shift.rank_sum_p([9.0], many) == pytest.approx(2 / 2501)
    few = [0.0, 1.0, 2.0, 3.0]
    centre, low, high = shift.shift(many, few)
    assert shift.shift(few, many) == (-centre, -high, -low)
    assert low < centre < high


def test_drawn_orders_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [np.arange(0.0, 5), np.arange(0.5, 6), np.arange(2.0, 8)]
    at_once = shift.several_p(groups)
    shift._arrangements.cache_clear()
    monkeypatch.setattr(shift, "_BLOCK", 1000)
    assert shift.several_p(groups) == at_once
    assert sum(shift.blocks(99_999, 17)) == 99_999


def test_trend_of_many_values_agrees_with_the_exact_one() -> None:
    """The normal approximation takes over where it is accurate, so thousands of launches need no table of all pairs."""
    values = np.random.default_rng(3).normal(size=shift.EXACT_TREND + 1) + np.linspace(0, 0.6, shift.EXACT_TREND + 1)
    exact, approximate = shift.trend(values[:-1]), shift.trend(values)
    assert exact[1] == pytest.approx(approximate[1], rel=0.4)
    assert shift.trend(np.arange(3000))[0] == 1.0
    assert shift.trend(np.arange(3000))[1] < 1e-100


@given(few, few)
def test_one_sided_rank_sum_counts_every_assignment(first: list[int], second: list[int]) -> None:
    """The p is the share of all assignments in which the first values have a rank sum as small."""
    ranks = shift.midranks([*first, *second])
    n = len(first)
    sums = [ranks[list(chosen)].sum() for chosen in combinations(range(len(ranks)), n)]
    share = np.mean([one <= ranks[:n].sum() + 1e-9 for one in sums])
    found = shift.rank_sums_above(np.array([first], float), np.array([second], float))
    assert found[0] == pytest.approx(share)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_signed_ranks_count_every_choice_of_signs(differences: list[int]) -> None:
    """The p is the share of all signs of the differences whose positive ranks have a sum as large, ties included."""
    sizes = np.abs([one for one in differences if one])
    ranks = shift.midranks(sizes)
    sums = [float(ranks[list(signs)].sum()) for signs in product((False, True), repeat=len(sizes))]
    seen = ranks[np.array([one > 0 for one in differences if one], bool)].sum()
    found = shift.signed_ranks_above(np.array([differences], float))
    assert found[0] == pytest.approx(np.mean([one >= seen - 1e-9 for one in sums]))


@pytest.mark.parametrize("n", [6, 9, 30, shift.EXACT_SIGNED + 20])
def test_signed_ranks_are_those_of_wilcoxon(n: int) -> None:
    scipy = pytest.importorskip("scipy.stats")
    rows = np.random.default_rng(n).normal(0.2, 1, (5, n))
    method = "exact" if n <= shift.EXACT_SIGNED else "approx"
    for row, p in zip(rows, shift.signed_ranks_above(rows), strict=True):
        expected = scipy.wilcoxon(row, alternative="greater", method=method, correction=True).pvalue
        assert p == pytest.approx(expected, rel=1e-6)


@given(st.integers(6, 12), st.integers(0, 10_000))
def test_the_interval_of_pairs_agrees_with_the_signed_rank_test(n: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(0.7, 1, (1, n))
    _, low, high = shift.paired_shifts(rows)
    p = 2 * min(shift.signed_ranks_above(rows)[0], shift.signed_ranks_above(-rows)[0])
    assert (low[0] <= 0 <= high[0]) == (p > 0.05)


def test_the_shift_of_pairs_is_that_of_a_published_example() -> None:
    """Hollander and Wolfe, example 3.1 (Hamilton's depression factor): p = .020 one-sided, shift -.46."""
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    centre, low, high = shift.paired_shifts((after - before)[None], 0.96)
    assert (centre[0], low[0], high[0]) == pytest.approx((-0.46, -0.786, -0.010), abs=5e-4)
    assert shift.signed_ranks_above((before - after)[None])[0] == pytest.approx(0.0195, abs=1e-4)
    assert all(np.isnan(end[0]) for end in shift.paired_shifts(np.arange(5.0)[None])[1:])
