"""The one decision whether two sides differ: its errors over tables of points with known truth."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import labkit
from labkit.stats.decision import SMALL, TOO_FEW, Decision, above, beyond_limit, decide, enough

PACKAGE = Path(labkit.__file__).parent

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


def test_a_side_against_a_limit_is_a_sign_test() -> None:
    binomtest = pytest.importorskip("scipy.stats").binomtest
    chance, seen = np.random.default_rng(4), set()
    for count in (4, 5, 6, 9, 14):
        for shift in (-1.0, 0.0, 0.5, 1.5):
            side = chance.normal(shift, 1.0, count)
            p = binomtest(int((side > 0).sum()), count).pvalue
            expected = "cannot say" if p > 0.05 else "above" if np.median(side) > 0 else "below"
            assert beyond_limit([side], [0.0]) == [expected]
            assert beyond_limit([side], [0.0], tests=10**6) == ["cannot say"]
            seen.add(expected)
    assert seen == {"above", "below", "cannot say"}


def test_a_median_at_the_limit_is_rarely_called_beyond_it_in_a_whole_table() -> None:
    chance = np.random.default_rng(8)
    wrong = [
        any(one != "cannot say" for one in beyond_limit(chance.lognormal(0, 1, (20, 12)), [1.0] * 20))
        for _ in range(200)
    ]
    assert np.mean(wrong) <= 0.08, "5 % of 200 tables, and what chance adds"


def test_one_pair_of_a_larger_family_needs_more_launches_and_is_told_so() -> None:
    base, other = np.linspace(0.0, 0.01, 6), np.linspace(1.0, 1.01, 6)
    outcomes = [decide([(base, other)], [ENDS], tests=tests)[0] for tests in (1, 23, 24)]
    assert [one.outcome for one in outcomes] == ["differ", "differ", "cannot say"]
    assert outcomes[-1].reason == TOO_FEW
    assert [enough(6, 6, tests=tests) for tests in (23, 24)] == [True, False]


def test_only_a_larger_other_side_differs_where_only_that_counts() -> None:
    mannwhitneyu = pytest.importorskip("scipy.stats").mannwhitneyu
    chance = np.random.default_rng(6)
    for _ in range(50):
        base, other = chance.normal(0, 0.1, 7), chance.normal(0.1, 0.1, 6)
        p = mannwhitneyu(other, base, alternative="greater", method="exact").pvalue
        for tests in (1, 4):
            [one] = decide([(base, other)], [ENDS], tests=tests, larger=True)
            assert one.p == pytest.approx(p)
            assert (one.outcome == "differ") == bool(p * tests <= 0.05 and one.shift > ENDS[1])
            assert above(base[None], other[None], ENDS[1], tests).tolist() == [one.outcome == "differ"]
            [back] = decide([(other, base)], [ENDS], tests=tests, larger=True)
            assert back.outcome != "differ" or back.shift > 0


END = re.compile(r"(?:^|_)(?:low|high)$")


def owners(node: ast.AST) -> set[str]:
    """Of what an expression names the end of an interval: ``a.low`` of a, ``row["latency_us_low"]`` of row."""
    attributes = {
        ast.unparse(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute) and END.search(one.attr)
    }
    return attributes | {
        ast.unparse(one.value)
        for one in ast.walk(node)
        if isinstance(one, ast.Subscript)
        for key in ast.walk(one.slice)
        if isinstance(key, ast.Constant) and END.search(str(key.value))
    }


def overlaps(path: Path) -> list[str]:
    """Comparisons by size of the end of one interval with an end of another."""
    order = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare) and any(isinstance(one, order) for one in node.ops)
        for ends in [[one for one in map(owners, (node.left, *node.comparators)) if one]]
        if any(one != other for one, other in pairwise(ends))
    ]


def test_who_reads_decides_by_launches_and_not_by_intervals_that_overlap() -> None:
    parts = ("judge", "report", "studies", "models", "tuning", "suites", "figures", "apps")
    found = {
        str(path.relative_to(PACKAGE)): some
        for part in parts
        for path in (PACKAGE / part).rglob("*.py")
        if (some := overlaps(path))
    }
    lab = {"apps/teaching/labs/lies_and_statistics.py": ["fast.high < slow.low"]}  # shows what misleads
    caption = {"figures/seen.py": ["low.high < high.low"]}  # says that bars overlap, and claims nothing
    assert found == lab | caption, "ask labkit.judge.effects, or labkit.stats.decision for values that are no rows"


def test_intervals_that_are_compared_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        'a.low > b.high\nslow["latency_us_low"] > fast["latency_us_high"] * 1.1\n'
        "a.high > 2 * a.low\na.low > limit\nlow <= x <= high\na.low == b.high\na.slow < b.slow\n"
    )
    assert len(overlaps(file)) == 2
