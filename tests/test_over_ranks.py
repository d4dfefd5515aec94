"""What is kept of many ranks agrees with every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from labkit.stats import across_ranks, histogram

TIMES = arrays.arrays(np.int64, st.tuples(st.integers(1, 9), st.integers(1, 12)), elements=st.integers(0, 10**12))


@given(arrays.arrays(np.int64, st.integers(1, 200), elements=st.integers(0, 2**52)))
def test_a_histogram_knows_each_value_within_one_percent(values):
    middle = histogram.middle(histogram.bucket(values))
    assert (abs(middle - values) <= histogram.ERROR * values).all()
    assert histogram.ERROR <= 0.01
    assert (np.diff(histogram.bucket(np.sort(values))) >= 0).all()


@given(arrays.arrays(np.int64, st.integers(1, 300), elements=st.integers(0, 10**9)), st.floats(0.01, 1))
def test_quantiles_of_a_histogram_are_the_exact_ones_within_its_error(values, q):
    exact = np.sort(values)[max(1, int(np.ceil(round(len(values) * q, 9)))) - 1]
    assert abs(histogram.quantile(*histogram.count(values), q) - exact) <= histogram.ERROR * exact


@given(TIMES)
@settings(deadline=None)
def test_iterations_over_ranks_are_what_the_times_say(times):
    over = across_ranks.summarise(range(10, 10 + len(times)), times, {"pure_ns": times // 2})
    columns = over.of_iteration
    assert (columns["slowest"] == times.max(axis=0)).all()
    assert (columns["fastest"] == times.min(axis=0)).all()
    assert (times[columns["slowest_rank"] - 10, np.arange(times.shape[1])] == columns["slowest"]).all()
    assert np.allclose(over.reduced("mean"), times.mean(axis=0), rtol=1e-12)
    assert (over.reduced("max", "pure_ns") == (times // 2).max(axis=0)).all()
    assert (columns["p50"] == np.sort(times, axis=0)[-(-len(times) // 2) - 1]).all()
    means = over.means()["pure_ns"]
    assert np.allclose(means.mean(axis=1), (times // 2).mean(axis=1))
    assert over.of_rank["slowest_count"].sum() == times.shape[1]
    for got, exact in zip(over.quantiles([0.5, 1.0])[1], times.max(axis=1), strict=True):
        assert abs(got - exact) <= histogram.ERROR * exact


@given(TIMES)
@settings(deadline=None)
def test_packing_loses_nothing(times):
    over = across_ranks.summarise(range(len(times)), times, {"pure_ns": times + 1})
    again = across_ranks.unpacked(across_ranks.packed(over), over.ranks, times.shape[1], ["pure_ns"])
    assert (again.histogram == over.histogram).all()
    for group in ("of_iteration", "of_rank", "sums"):
        for name, values in getattr(over, group).items():
            assert (getattr(again, group)[name] == values).all()
    assert (again.phases["pure_ns"]["sum"] == over.phases["pure_ns"]["sum"]).all()


@given(arrays.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 12))))
def test_two_runs_hold_every_set_that_has_no_more(long):
    for column, (first, end, second, last) in zip(long.T, across_ranks.runs(long).T.tolist(), strict=True):
        padded = np.concatenate(([0], column.astype(int), [0]))
        number = int((np.diff(padded) == 1).sum())
        if number > 2:
            assert (first, end, second) == (0, 0, across_ranks.MANY)
        else:
            assert {*range(first, end), *range(second, last)} == {*np.flatnonzero(column).tolist()}


def test_a_rank_without_times_has_no_quantile():
    over = across_ranks.summarise((0, 1), np.array([[5, 6], [7, 8]]))
    emptied = across_ranks.OverRanks((0, 1, 2), over.of_iteration, over.of_rank, over.sums, histogram=over.histogram)
    assert np.isnan(emptied.quantiles([0.5])[0, 2])
    assert emptied.quantiles([0.5])[0, 0] == pytest.approx(5)
