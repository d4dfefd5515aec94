"""Badges and warnings in few lines: what differs in numbers only is one kind, and its numbers keep their range."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.point.doubts import kinds
from labkit.point.notes import badge


def test_a_kind_says_median_and_range_instead_of_its_first_number() -> None:
    waits = [f"tasks waited for a processor in {share} % of the time, latency may be false" for share in (20, 95, 31)]
    assert [(str(one), count) for one, count in kinds([badge(text)] for text in waits)] == [
        ("tasks waited for a processor in 31 % (median; range 20 to 95 %) of the time, latency may be false", 3)
    ]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["iperf3 stands in", "iperf2 stands in"], ["iperf3 stands in", "iperf2 stands in"]),
        (["made by v1.2.3", "made by v1.2.4"], ["made by v1.2.3", "made by v1.2.4"]),
        (["2 ranks on 2 cores", "14 ranks on 2 cores"], ["8 (median; range 2 to 14) ranks on 2 cores"]),
        (["stolen: 1.0% of it.", "stolen: 12.5% of it."], ["stolen: 6.8% (median; range 1.0 to 12.5%) of it."]),
        (["12,800 of 1e5 lost", "900 of 1e5 lost"], ["6,850 (median; range 900 to 12,800) of 1e5 lost"]),
        (["load 7.95458984375", "load 8"], ["load 7.98 (median; range 7.95 to 8.00)"]),
    ],
)
def test_only_numbers_of_their_own_are_ranged(texts: list[str], expected: list[str]) -> None:
    assert [str(one) for one, _ in kinds([badge(text)] for text in texts)] == expected


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_the_worst_value_is_never_lost(values: list[int]) -> None:
    ((one, count),) = kinds([badge(f"load {value:,}")] * 2 for value in values)
    text = str(one)
    assert count == len(values)
    assert {f"{min(values):,}", f"{max(values):,}"} <= set(text.replace(")", "").split())
    assert len(set(values)) == 1 or f"{statistics.median(values):,.0f}" in text
