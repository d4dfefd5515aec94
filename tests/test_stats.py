"""Rank intervals and percentiles: properties over any data, and coverage by seeded simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from labkit import stats
from labkit.errors import DataError
from labkit.stats import binomial
from labkit.stats.lists import Lists

times = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=200)


def exact_coverage(n: int, q: Fraction, low: int, high: int) -> Fraction:
    """P(x_(low) <= quantile < x_(high)) of a continuous distribution, in exact arithmetic."""
    return sum((math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(low, high)), Fraction(0))


@given(times)
def test_percentiles_lie_between_the_extremes_and_rise(values: list[float]) -> None:
    s = stats.summarize(values)
    known = [value for value in (s.min, s.p50, s.p95, s.p99, s.p999, s.max) if not math.isnan(value)]
    assert known == sorted(known)
    assert min(values) == s.min
    assert max(values) == s.max
    assert s.n == len(values)


@given(times, st.lists(st.floats(0.001, 0.999), min_size=2, max_size=8))
def test_quantiles_are_monotone(values: list[float], qs: list[float]) -> None:
    got = [stats.quantile(values, q) for q in sorted(qs)]
    assert got == sorted(got)


@given(times, st.integers(-20, 20))
def test_scaling_commutes(values: list[float], power: int) -> None:
    factor = 2.0**power  # exact in binary, so equality may be asked for
    plain, scaled = stats.summarize(values), stats.summarize(np.asarray(values) * factor)
    for name in ("p50", "p95", "p99", "min", "max", "mean"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name) * factor, rel=0, abs=0, nan_ok=True)
    assert scaled.within.relative_width == plain.within.relative_width


@given(times, st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[float], random) -> None:
    mixed = values.copy()
    random.shuffle(mixed)
    plain, other = stats.summarize(values), stats.summarize(mixed)
    ends, mixed_ends = stats.interval(values), stats.interval(mixed)
    assert (plain.p50, plain.p95, ends.low, plain.spread) == pytest.approx(
        (other.p50, other.p95, mixed_ends.low, other.spread), nan_ok=True, rel=0, abs=0
    )


def autoregressive(launches: int, n: int, previous: float) -> np.ndarray:
    """Iterations that take over a part of the one before, about 1."""
    noise = np.random.default_rng(1).normal(size=(launches, n))
    rows = noise.copy()
    for k in range(1, n):
        rows[:, k] = previous * rows[:, k - 1] + math.sqrt(1 - previous**2) * noise[:, k]
    return np.exp(0.2 * rows)


@pytest.mark.parametrize(("previous", "worth"), [(0.0, 1000), (0.5, 400), (0.9, 80)])
def test_the_interval_inside_a_launch_holds_where_iterations_depend_on_each_other(previous: float, worth: int) -> None:
    """The true median is 1. Ranks of independent iterations enclose it in 42 % of the launches of the last case."""
    columns = stats.summaries(Lists.of(autoregressive(400, 1000, previous)))
    assert np.mean((columns["ci_low"] <= 1) & (columns["ci_high"] >= 1)) > 0.9
    assert worth / 2 < np.median(columns["n_eff"]) < 1.5 * worth


def test_n_eff_is_what_batch_means_and_students_quantile_give() -> None:
    """Ten batches of the sides of the median, without the two iterations that are left over."""
    (values,) = autoregressive(1, 1002, 0.9)
    side = np.sign(values - np.median(values))
    means = side[:1000].reshape(10, 100).mean(axis=1)
    shrink = (scipy.stats.norm.ppf(0.975) / scipy.stats.t.ppf(0.975, 9)) ** 2
    assert stats.summarize(values).n_eff == pytest.approx(
        1002 * shrink * side.var() / (100 * means.var(ddof=1)), rel=1e-6
    )


def test_independent_iterations_are_worth_what_they_are() -> None:
    rows = np.random.default_rng(1).lognormal(size=(400, 1000))
    worth = stats.summaries(Lists.of(rows))["n_eff"]
    assert worth.max() == 1000
    assert worth.min() > 200
    assert np.mean(worth) > 750
    alternating = np.tile([1.0, 2.0], (1, 500))
    assert stats.summaries(Lists.of(alternating))["n_eff"].tolist() == [1000]
    few, same = rows[:1, :29], np.ones((1, 100))
    assert stats.summaries(Lists.of([few[0], same[0]]))["n_eff"].tolist() == [29, 100]
    both = stats.interval(few)
    assert (both.low, both.high) == (stats.within(few).low, stats.within(few).high)


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 7.0]), min_size=6, max_size=200))
def test_dependence_widens_the_interval_and_never_narrows_it(values: list[float]) -> None:
    inside, independent = stats.summarize(values), stats.interval(values)
    assert min(values) <= inside.within.low <= independent.low
    assert max(values) >= inside.within.high >= independent.high
    assert min(6, len(values)) <= inside.n_eff <= len(values)


@given(times, st.sampled_from([0.25, 0.5, 0.95]))
def test_interval_encloses_its_centre(values: list[float], q: float) -> None:
    interval = stats.interval(values, q)
    if stats.ranks(len(values), q) is None:
        assert math.isnan(interval.low)
        assert math.isnan(interval.high)
        assert interval.relative_width is None
    else:
        assert min(values) <= interval.low <= interval.centre <= interval.high <= max(values)


@pytest.mark.parametrize(
    ("n", "wanted"), [(1, None), (5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (100, (40, 61))]
)
def test_median_ranks_of_the_tables(n: int, wanted: tuple[int, int] | None) -> None:
    assert stats.ranks(n) == wanted


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(95, 100)])
@pytest.mark.parametrize("n", [6, 20, 59, 100, 400])
def test_ranks_are_exact_and_tight(n: int, q: Fraction) -> None:
    """Each tail holds at most 2.5 %, and would hold more with the ends one rank closer."""
    ranks = stats.ranks(n, float(q))
    tail = Fraction(25, 1000)
    if ranks is None:
        assert max(q**n, (1 - q) ** n) > tail  # all samples on one side of the quantile: too likely
        return
    low, high = ranks
    assert exact_coverage(n, q, 0, low) <= tail < exact_coverage(n, q, 0, low + 1)
    assert exact_coverage(n, q, high, n + 1) <= tail < exact_coverage(n, q, high - 1, n + 1)


def test_normal_ranks_meet_the_exact_ones() -> None:
    exact, normal = stats.ranks(1000), stats.ranks(1001)
    assert exact is not None
    assert normal is not None
    assert abs(normal[0] - exact[0]) <= 1
    assert 0 <= normal[1] - exact[1] <= 2
    half = 1.959963984540054 * math.sqrt(10_000) / 2
    assert stats.ranks(10_000) == (math.floor(5000 - half), math.ceil(5000 + half) + 1)


@pytest.mark.parametrize(("n", "q"), [(6, 0.5), (25, 0.5), (200, 0.5), (3000, 0.5), (400, 0.95)])
def test_coverage_by_simulation(n: int, q: float) -> None:
    """The true quantile of a skewed distribution lies inside at least as often as promised, within binomial error."""
    rounds, random = 4000, np.random.default_rng(20150415 + n)
    true = -math.log(1 - q)
    ends = stats.ranks(n, q)
    assert ends is not None
    drawn = np.sort(random.exponential(size=(rounds, n)), axis=1)
    hits = int(((drawn[:, ends[0] - 1] <= true) & (true <= drawn[:, ends[1] - 1])).sum())
    promised = float(exact_coverage(n, Fraction(q), *ends))
    assert promised >= 0.95
    assert abs(hits / rounds - promised) <= 4 * math.sqrt(promised * (1 - promised) / rounds) + 1e-9
    one = stats.interval(drawn[0], q)
    assert (one.low, one.high) == (drawn[0, ends[0] - 1], drawn[0, ends[1] - 1])


def test_percentile_by_nearest_rank() -> None:
    values = np.arange(1.0, 101.0)
    assert [stats.quantile(values, q) for q in (0.5, 0.95, 0.99, 1 - 1e-12)] == [50.5, 95.0, 99.0, 100.0]


@pytest.mark.parametrize(("n", "unreliable"), [(199, ("p95", "p99")), (200, ("p99",)), (999, ("p99",)), (1000, ())])
def test_reliability(n: int, unreliable: tuple[str, ...]) -> None:
    assert stats.summarize(np.arange(n)).unreliable == unreliable


@pytest.mark.parametrize(("name", "least"), [("p95", 20), ("p99", 100)])
def test_a_percentile_that_would_be_the_maximum_is_not_given(name: str, least: int) -> None:
    assert math.isnan(getattr(stats.summarize(np.arange(least - 1)), name))
    assert getattr(stats.summarize(np.arange(least)), name) == least - 2


def test_the_step_of_the_clock_shows_in_the_times() -> None:
    random = np.random.default_rng(1)
    assert stats.clock_step(random.integers(1, 500, 1000) * 10) == 10
    assert stats.clock_step(random.integers(1, 5000, 1000)) == 1
    assert stats.clock_step(np.array([5000, 7000])) == 1  # two times tell nothing
    assert stats.clock_step(np.zeros(50, np.int64)) == 1
    assert stats.clock_step(np.array([*[1000] * 30, 1001])) == 1
    assert stats.clock_step(np.full(40, 19_980)) == 10  # equal times are not a coarse clock


def test_p999_from_ten_thousand_samples_on() -> None:
    assert math.isnan(stats.summarize(np.arange(9_999)).p999)
    assert stats.summarize(np.arange(1.0, 10_001.0)).p999 == 9990.0


def test_spread() -> None:
    random = np.random.default_rng(3)
    assert stats.relative_spread(random.normal(100.0, 5.0, 20_000)) == pytest.approx(0.05, rel=0.05)
    assert stats.relative_spread([2.0, 2.0]) == 0.0
    assert stats.relative_spread([10.0, 10.0, 11.0]) == pytest.approx(0.05 / 1.349)  # one launch of three is off: seen
    assert math.isnan(stats.relative_spread([2.0]))
    assert stats.relative_spread([1e-300] * 3 + [1e300] * 2) == math.inf  # no float holds it, and no warning is given
    assert stats.relative_spread([1e300, 2e300, 3e300]) == pytest.approx(stats.relative_spread([1, 2, 3]))


@pytest.mark.parametrize(
    ("medians", "label", "low", "high"),
    [
        ([2.0], "1 launch", math.nan, math.nan),
        ([2.0, 1.0, 3.0], "range of 3 launches", 1.0, 3.0),
        ([5.0, 1.0, 3.0, 2.0, 4.0], "range of 5 launches", 1.0, 5.0),
        ([6.0, 5.0, 1.0, 3.0, 2.0, 4.0], "95 % interval of 6 launches", 1.0, 6.0),
        (list(range(1, 10)), "95 % interval of 9 launches", 2.0, 8.0),
    ],
)
def test_headline_says_what_it_is(medians: list[float], label: str, low: float, high: float) -> None:
    headline = stats.headline(medians)
    assert (headline.label, headline.launches) == (label, len(medians))
    assert (headline.low, headline.high) == pytest.approx((low, high), nan_ok=True)
    assert headline.centre == float(np.median(medians))


def test_nothing_and_nan_are_refused() -> None:
    with pytest.raises(DataError, match="0 samples"):
        stats.summarize([])
    with pytest.raises(DataError, match="1 of 2 samples are NaN"):
        stats.within([1.0, math.nan])
    with pytest.raises(DataError, match=r"q=1\.5"):
        stats.ranks(10, 1.5)


@pytest.mark.parametrize(("count", "n", "p"), [(60, 1030, 0.05), (3, 10, 0.05), (1000, 1000, 0.5), (520, 1100, 0.5)])
def test_upper_tail_of_the_binomial_is_exact(count: int, n: int, p: float) -> None:
    hits, of = p.as_integer_ratio()
    exact = Fraction(sum(math.comb(n, k) * hits**k * (of - hits) ** (n - k) for k in range(count, n + 1)), of**n)
    assert binomial.at_least(count, n, p) == pytest.approx(float(exact), rel=1e-9)


def test_upper_tail_of_the_binomial_has_no_limit_of_trials() -> None:
    """A comparison of 100,000 points has 200,000 sides."""
    assert binomial.at_least(10_000, 200_000, 0.05) == pytest.approx(0.5, abs=0.01)
    assert binomial.at_least(200_000, 200_000, 0.05) == 0.0
    assert binomial.at_least(1, 200_000, 1e-12) == pytest.approx(2e-7, rel=1e-3)


def test_statistics_of_lists_of_any_lengths_are_those_of_each() -> None:
    chance = np.random.default_rng(1)
    lengths = [1, 3, 3, 3, 50, 2, 2, 7, 1, 1, 300]
    each = [chance.exponential(1, length) for length in lengths]
    lists = Lists.of(each)
    assert [one.tolist() for one in lists] == [one.tolist() for one in each]
    assert [one.tolist() for one in lists.sorted()] == [sorted(one.tolist()) for one in each]
    assert [one.tolist() for one in lists] == [one.tolist() for one in each]  # they are not sorted in place
    assert lists.sums().tolist() == [float(one.sum()) for one in each]
    assert lists.sorted().medians().tolist() == [float(np.median(one)) for one in each]
    assert lists.at(lists.counts - 1).tolist() == [one[-1] for one in each]
    assert [one.tolist() for one in lists.chosen(np.array([2, 4, 10]))] == [each[k].tolist() for k in (2, 4, 10)]
    parts = lists.chosen(np.array([4, 10])).cut(np.array([[10, 40], [300, 0]]))
    assert [len(one) for one in parts] == [10, 40, 300, 0]
    assert parts[1].tolist() == each[4][10:].tolist()
    assert Lists(lists.values > 5, lists.starts).any().tolist() == [bool((one > 5).any()) for one in each]


@pytest.mark.parametrize(("values", "groups"), [(0, 0), (0, 3), (5, 9), (1000, 70), (1000, 2000)])
def test_medians_of_groups_of_any_sizes_are_those_of_each(values: int, groups: int) -> None:
    chance = np.random.default_rng(1)
    every, group = chance.normal(size=values), chance.integers(0, max(groups, 1), values)
    every[chance.random(values) < 0.1] = np.nan
    known = [every[(group == one) & ~np.isnan(every)] for one in range(groups)]
    expected = [np.median(one) if len(one) else np.nan for one in known]
    for order in (np.arange(values), np.argsort(group, kind="stable")):
        assert np.array_equal(stats.medians(every[order], group[order], groups), expected, equal_nan=True)


def test_summaries_of_launches_of_any_lengths_are_those_of_each() -> None:
    chance = np.random.default_rng(2)
    each = [chance.exponential(1, length) for length in (1, 2, 5, 6, 19, 20, 99, 100, 100, 10_000)]
    together = stats.summaries(Lists.of(each))
    for place, one in enumerate(each):
        s = stats.summarize(one)
        alone = {
            name: getattr(s, name) for name in ("n_eff", "p50", "p95", "p99", "p999", "min", "max", "mean", "spread")
        }
        alone |= {"ci_low": s.within.low, "ci_high": s.within.high}
        np.testing.assert_equal({name: float(values[place]) for name, values in together.items()}, alone)
        assert s.p50 == np.median(one)
        assert s.mean == one.mean()
        quartiles = np.percentile(one, [25, 75])
        if len(one) > 1:
            assert s.spread == pytest.approx((quartiles[1] - quartiles[0]) / 1.349 / np.median(one))


def test_clocks_of_launches_of_any_lengths_are_those_of_each() -> None:
    chance = np.random.default_rng(3)
    each = [
        step * chance.integers(0, 50, (2, length)) for step in (1, 10, 100, 1000) for length in (1, 5, 9, 10, 40, 40)
    ]
    each.append(np.zeros((2, 20), np.int64))
    starts = np.cumsum([0, *(one.shape[1] for one in each)])
    together = stats.clock_steps(Lists(np.concatenate(each, axis=1), starts))
    assert together.tolist() == [stats.clock_step(one) for one in each]
    assert {*together.tolist()} == {1, 10, 100, 1000}
    assert together[-1] == 1
