"""The gate: exact limits, a declared chance of false alarms, verdicts, formats and exit codes."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import weakref
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from bench import gate as simulation
from labkit.apps import cli
from labkit.apps.show import findings, gated
from labkit.errors import DataError
from labkit.judge import gate as gates
from labkit.judge.sentences import sentence
from labkit.point.spec import Spec
from labkit.read import records
from labkit.stats import limits, nights
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FACTS, MEASURED
from tests import made

META = {f.name: f.empty for f in FACTS.values() if set(f.needed) & set(MEASURED)} | {"elapsed": 1.0}


def campaign(
    day: int,
    *,
    factor: float = 1.0,
    sizes: tuple[int, ...] = (8, 64),
    spread: float = 0.01,
    level: float = 1.0,
    benchmark: str = "mpi.latency",
    environment: Mapping[str, str] = MappingProxyType({}),
    **meta: Any,
) -> list[Samples]:
    """Six launches of a benchmark at some sizes; the first size is slower by a factor, all of them by a level."""
    random, points = np.random.default_rng(day), []
    for size in sizes:
        for launch in range(6):
            middle = 2000 * level * (factor if size == sizes[0] else 1.0) * math.exp(spread * random.standard_normal())
            times = (middle * (1 + 0.01 * random.random((2, 200)))).astype(int)
            facts = {
                "fingerprint": f"{size:016x}",
                "timing": "each",
                "cadence": "streaming",
                "library": "Open MPI 5.0.8",
            }
            spec = Spec(benchmark=benchmark, size=size, environment=dict(environment))
            points.append(made.samples(spec, times, launch=launch, meta=META | facts | meta))
    return points


HISTORY = [(f"day{day}", records.table(campaign(day))) for day in range(8)]


def judge(points: list[Samples], **options: Any) -> gates.Result:
    """What the gate says with eight days of history."""
    return gates.gate("today", records.table(points), HISTORY, **options)


def numbers(result: gates.Result, *outcomes: str) -> list[gates.Compared]:
    """The numbers of the comparisons with these outcomes."""
    return [found for one, found in result.compared if not outcomes or one.form in outcomes]


def test_categories_give_the_same_verdicts_as_texts() -> None:
    new = records.table(campaign(100, factor=1.5, environment={"A": "1"}))
    given = [(name, table if n % 2 else coded(table)) for n, (name, table) in enumerate(HISTORY)]
    expected = gates.gate("today", new, HISTORY)
    assert repr(gates.gate("today", new, [(name, coded(table)) for name, table in HISTORY])) == repr(expected)
    assert repr(gates.gate("today", coded(new), given)) == repr(expected)
    assert expected.failed


def coded(table: pd.DataFrame) -> pd.DataFrame:
    """Records with texts as categories, as they are read for a gate."""
    return table.astype(dict.fromkeys(table.select_dtypes("str"), "category"))


def test_one_campaign_of_the_past_is_in_memory_at_a_time() -> None:
    alive: list[weakref.ref[pd.DataFrame]] = []

    def past() -> Iterator[tuple[str, pd.DataFrame]]:
        for day in range(3):
            assert not any(one() is not None for one in alive)
            table = records.table(campaign(day))
            alive.append(weakref.ref(table))
            yield f"day{day}", table
            del table

    assert gates.gate("today", records.table(campaign(100)), past()).history == ("day0", "day1", "day2")


def test_the_deviation_is_exactly_rounded() -> None:
    random = np.random.default_rng(1)
    for scale in (1e-9, 1e-3, 1.0, 1e200):
        for count in (2, 3, 7):
            values = (scale * random.normal(3, 1, (20, count))).tolist()
            assert [limits.deviation(each) for each in values] == [statistics.stdev(each) for each in values]
    assert limits.deviation([2.5, 2.5, 2.5]) == 0.0


def test_the_chance_of_values_beyond_is_that_of_all_orders() -> None:
    past, new = 3, 3
    orders = list(permutations(range(past + new)))
    for rank in range(1, past + 1):
        for beyond in range(1, new + 1):
            count = sum(sum(v > sorted(o[:past])[rank - 1] for v in o[past:]) >= beyond for o in orders)
            assert limits.chance_beyond(past, new, rank, beyond) == pytest.approx(count / len(orders))


@pytest.mark.parametrize(("new", "chance"), [(1, 0.01), (3, 1e-3), (6, 1e-4), (10, 1e-5)])
def test_the_least_history_is_just_enough(new: int, chance: float) -> None:
    least = limits.needed(new, chance)
    assert limits.order(least, new, chance) is not None
    assert limits.order(least - 1, new, chance) is None


@pytest.mark.parametrize(
    ("chance", "freedom", "value"),
    [(0.025, 4, 2.776445), (0.0001, 9, 6.010132), (0.05, 1, 6.313752), (0.01, 2, 6.964557), (0.001, 30, 3.385185)],
)
def test_student_is_that_of_the_tables(chance: float, freedom: int, value: float) -> None:
    assert limits.student(chance, freedom) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("value", "freedom", "chance"),
    [
        (1e8, 2, 1 / (math.sqrt(2 + 1e16) * (math.sqrt(2 + 1e16) + 1e8))),
        (400, 9, 9.709591961381846e-21),
        (1e17, 1, 1e-17 / math.pi),
    ],
)
def test_the_tail_of_student_keeps_its_digits(value: float, freedom: int, chance: float) -> None:
    """For 2 degrees of freedom there is a closed form; the other values are from SciPy."""
    assert limits.tail(value, freedom) == pytest.approx(chance, rel=1e-12)
    assert limits.student(chance, freedom) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("new", [1, 2, 5, 8])
@pytest.mark.parametrize("chance", [0.3, 0.05, 1e-3])
def test_the_limit_is_the_lowest_that_keeps_the_chance(new: int, chance: float) -> None:
    for past in (1, 4, 30):
        kept = [
            (beyond, rank)
            for beyond in range(new // 2 + 1, new + 1)
            for rank in range(1, past + 1)
            if limits.chance_beyond(past, new, rank, beyond) <= chance
        ]
        assert limits.order(past, new, chance) == (min(kept)[::-1] if kept else None)
    assert limits.needed(1000, 0.001) == 1, "1,000 values above the only one of the past: 1 order of 1,001"


def test_a_limit_for_rates_lies_below_and_mirrors_that_for_costs() -> None:
    past = [np.exp(0.02 * np.random.default_rng(day).standard_normal(6)) for day in range(8)]
    upper = limits.limit(past, 6, 1e-3, higher=True)
    lower = limits.limit([1 / values for values in past], 6, 1e-3, higher=False)
    assert lower.value == pytest.approx(1 / upper.value, rel=1e-3)  # the middle of an even number is not a mirror
    assert upper.value > np.median(np.concatenate(past))


def test_too_little_history_gives_no_limit_and_says_how_much_is_needed() -> None:
    limit = limits.limit([np.ones(6)], 6, 1e-6, higher=True)
    assert math.isnan(limit.value)
    assert limit.needed > 6


def test_the_same_system_passes_and_a_slower_point_fails() -> None:
    same = judge(campaign(100))
    assert not same.failed
    assert gated.warnings(same) == []
    result = judge(campaign(100, factor=1.5))
    failed = numbers(result, "fail")
    assert {(one.point, one.statistic) for one in failed} == {("8 B", "p50"), ("8 B", "p99")}
    assert failed[0].change == pytest.approx(0.5, abs=0.05)
    assert failed[0].value > failed[0].limit.value > failed[0].usual
    assert result.comparisons == 4


def test_a_faster_point_passes() -> None:
    assert not judge(campaign(100, factor=0.5)).failed


def test_what_differs_from_the_past_is_named() -> None:
    result = judge(campaign(100, library="Open MPI 6.0", badges=["busy machine"]))
    assert numbers(result)[0].differs == ("library Open MPI 6.0 instead of Open MPI 5.0.8", "busy machine")


def test_a_point_of_all_the_past_that_is_missing_is_listed() -> None:
    result = judge(campaign(100, sizes=(8,)))
    assert [(found.point, one.form) for one, found in result.compared if one.form == "not measured"] == [
        ("64 B", "not measured")
    ]
    assert not result.failed
    assert "lacks 1 point of the history" in gated.warnings(result)[0]


def test_campaigns_without_a_common_point_are_an_error() -> None:
    with pytest.raises(DataError, match="no point in common"):
        judge(campaign(100, sizes=(4096,)))


def test_short_history_is_no_verdict() -> None:
    result = gates.gate("today", records.table(campaign(100)), HISTORY[:1], chance=1e-6)
    assert {one.form for one in result.verdicts} == {"not enough history"}
    assert not result.judged
    assert "need" in sentence(result.verdicts[0])
    assert "fewer than 5 earlier campaigns" in gated.warnings(result)[0]


def test_every_format_holds_every_failure() -> None:
    result = judge(campaign(100, factor=1.5, library="evil\x1b[31m|`\n::error::x<&>"))
    texts = {name: write(result) for name, write in gated.FORMATS.items()}
    whole = json.loads(texts["json"])
    assert [one["verdict"] for one in whole["verdicts"]] == ["fail", "fail", "pass", "pass"]
    assert [one["level"] for one in whole["verdicts"]] == ["bad", "bad", "good", "good"]
    assert whole["failed"]
    root = ET.fromstring(texts["junit"])
    assert root.attrib["failures"] == "2"
    assert len(root.findall("./testsuite/testcase/failure")) == 2
    lines = texts["github"].splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "::notice", "::notice"]
    assert texts["markdown"].count("| fail |") == 2
    assert texts["table"].count("fail  ") == 2
    assert all("\x1b" not in text for name, text in texts.items() if name != "json")
    plain = [json.loads(json.dumps(findings.as_dict(one), allow_nan=False)) for one in result.verdicts]
    assert [one["values"]["numbers"]["limit"]["value"] for one in plain] == [one["limit"] for one in whole["verdicts"]]
    assert not any(line.startswith("::error::x") for text in texts.values() for line in text.splitlines())


LEVELS = (1.0, 1.03, 0.96, 1.05, 0.97, 1.02, 0.95, 1.04)  # of the days, common to all points
SIZES = (8, 64, 512, 4096, 32768)


@pytest.fixture(scope="module")
def together() -> list[tuple[str, Any]]:
    """A history of days that are fast and slow as a whole."""
    return [
        (f"day{day}", records.table(campaign(day, level=level, sizes=SIZES, spread=0.005)))
        for day, level in enumerate(LEVELS)
    ]


def test_a_table_shows_all_that_failed_and_the_first_that_passed(
    together: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = records.table(campaign(100, factor=1.1, level=1.04, sizes=SIZES, spread=0.005))
    result = gates.gate("today", slow, together)
    failed = sum(one.form == "fail" for one, _ in result.compared)
    passed = sum(one.form == "pass" for one, _ in result.compared)
    assert failed
    assert "more comparison" not in gated.text(result)
    monkeypatch.setattr(gated, "PASSING", 3)
    lines = gated.text(result).splitlines()
    assert sum(one.startswith("fail ") for one in lines) == failed
    assert sum(one.startswith("pass ") for one in lines) == 3
    assert f"… and {passed - 3} more comparisons that pass; --format json has all" in lines


def test_what_all_points_of_a_night_have_in_common_is_removed_from_each(together: list[tuple[str, Any]]) -> None:
    slow = records.table(campaign(100, factor=1.1, level=1.04, sizes=SIZES, spread=0.005))
    result = gates.gate("today", slow, together)
    assert {(found.point, one.form) for one, found in result.compared if one.form != "pass"} == {("8 B", "fail")}
    assert [round(one.times, 1) for one in result.common if one.removed] == [1.0, 1.0]
    assert result.comparisons == 2 * len(SIZES) + 2
    one = numbers(result)[0]
    assert one.expected == pytest.approx(one.usual * 1.04, rel=0.03)
    assert one.usual * one.common * (1 + one.smallest) == pytest.approx(one.limit.value)
    few = [(name, table[table["message_size_B"] < 4096]) for name, table in together]
    alone = gates.gate("today", slow[slow["message_size_B"] < 4096], few)
    assert not alone.failed
    assert not any(one.removed for one in alone.common)
    assert "no common factor is removed, because 3 of them are too few" in gated.text(alone)


def test_a_night_that_is_slow_as_a_whole_fails_as_one(together: list[tuple[str, Any]]) -> None:
    result = gates.gate("today", records.table(campaign(100, level=1.5, sizes=SIZES, spread=0.005)), together)
    failed = numbers(result, "fail")
    assert {(one.benchmark, one.point, one.statistic) for one in failed} == {
        ("all", "all points of transport auto", ""),
        ("all", "all points of transport auto", "tail"),
    }
    assert failed[0].value == pytest.approx(1.5, rel=0.1)
    texts = {name: write(result) for name, write in gated.FORMATS.items()}
    assert all("all points of transport auto" in text for text in texts.values())
    assert [one["removed"] for one in json.loads(texts["json"])["common_factors"]] == [True, True]


def test_the_common_factor_of_rates_divides_them() -> None:
    def night(day: int, level: float, factor: float = 1.0) -> pd.DataFrame:
        points = campaign(day, level=level, factor=factor, sizes=SIZES, spread=0.005, benchmark="mpi.bandwidth")
        return records.table(points)

    past = [(f"day{day}", night(day, level)) for day, level in enumerate(LEVELS)]
    result = gates.gate("today", night(100, 1.04, 1.1), past)
    failed = numbers(result, "fail")[0]
    assert {found.point for one, found in result.compared if one.form != "pass"} == {"8 B"}
    assert failed.metric == "bandwidth_MBps"
    assert failed.expected == pytest.approx(failed.usual / 1.04, rel=0.03)
    assert failed.smallest < 0
    assert failed.expected * (1 + failed.smallest) == pytest.approx(failed.limit.value)


def test_a_night_with_too_few_points_does_not_count(together: list[tuple[str, Any]]) -> None:
    few = [("few", together[0][1][together[0][1]["message_size_B"] < 512]), *together]
    result = gates.gate("today", records.table(campaign(100, sizes=SIZES, spread=0.005)), few)
    assert [one.campaigns for one in result.common] == [len(together)] * 2
    assert {one.limit.campaigns for one in numbers(result)} == {len(together)}


def test_times_of_zero_have_no_common_factor(together: list[tuple[str, Any]]) -> None:
    zero = [(name, table.assign(latency_us_p50=table["latency_us_p50"].where(table["message_size_B"] > 8, 0.0)))
            for name, table in together]  # fmt: skip
    result = gates.gate("today", records.table(campaign(100, sizes=SIZES, spread=0.005)), zero)
    (one,) = (one for one in numbers(result) if (one.point, one.statistic) == ("8 B", "p50"))
    assert (one.common, one.limit.campaigns, one.campaigns) == (1.0, len(together), ())
    assert {one.tail: one.points for one in result.common} == {False: 4, True: 5}


def test_a_factor_that_cannot_be_judged_is_not_removed(together: list[tuple[str, Any]]) -> None:
    slow = records.table(campaign(100, level=1.5, sizes=SIZES, spread=0.005))
    result = gates.gate("today", slow, together[:4])
    assert not any(one.removed for one in result.common)
    assert {one.point for one in numbers(result, "fail")} == {
        "8 B", "64 B", "512 B", "4 KiB", "32 KiB"
    }  # fmt: skip


def test_the_benchmarks_that_give_the_common_factor_can_be_declared(together: list[tuple[str, Any]]) -> None:
    slow = records.table(campaign(100, sizes=SIZES, spread=0.005))
    assert all(one.removed for one in gates.gate("today", slow, together, reference="mpi.lat*").common)
    assert [one.points for one in gates.gate("today", slow, together, reference="sockets.*").common] == [0, 0]


def of_nights(*more: float) -> Any:
    """Ten nights of one series between 0.99 and 1.01, and the given ones, as logarithms."""
    usual = [1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.01, 0.99, 1.005, 0.995]
    return np.log([*usual, *more])[:, None]


def replayed(*more: float, **options: Any) -> nights.Replay:
    return nights.replay(of_nights(*more), 0.001, lambda *_: True, **options)


def test_a_night_enters_the_reference_when_three_later_ones_passed() -> None:
    assert replayed(*[1.0] * 6).reference[:, 0].tolist() == [True] * 12 + [False] * 4
    assert replayed(1.0).reference[:, 0].tolist() == [True] * 10 + [False]


def test_a_night_that_is_worse_never_enters_and_is_not_waited_for() -> None:
    one = replayed(1.0, 1.3, 1.0, 1.0, 1.0, 1.0)
    assert np.flatnonzero(one.rejected[:, 0]).tolist() == [11]
    assert np.flatnonzero(one.reference[:, 0]).tolist() == [*range(11)]
    assert not one.drifting.any()  # a night that failed by itself is not a drift
    accepted = np.arange(16) == 11
    again = replayed(1.0, 1.3, 1.0, 1.0, 1.0, 1.0, accepted=accepted)
    assert np.flatnonzero(again.reference[:, 0]).tolist() == [*range(12)]


def test_what_single_nights_miss_is_found_in_their_mean_and_not_absorbed() -> None:
    one = replayed(*[1.03] * 4)
    assert not one.alone.any()
    assert np.flatnonzero(one.drifting[:, 0]).tolist() == [12, 13]
    assert one.drifts[0, 0] == pytest.approx(math.log(1.03), rel=0.01)
    assert one.drifts[0, 0] > one.allowed[0, 0]
    later = replayed(*[1.03] * 12)
    assert later.drifting[12:].all()
    assert later.reference[:, 0].tolist() == [True] * 10 + [False] * 12
    assert not replayed(*[1.03] * 4, least=0.04).drifting.any()  # less than the clock resolves


def test_correlated_nights_have_wider_limits() -> None:
    independent, correlated = (replayed(*[1.0] * 4, correlation=one).allowed[0, 0] for one in (0.0, 0.5))
    assert correlated > 1.2 * independent


@pytest.mark.parametrize(("past", "ahead", "gap"), [(10, 1, 1), (10, 12, 1), (20, 4, 5)])
def test_the_limit_of_correlated_nights_has_the_chance_that_is_asked_for(past: int, ahead: int, gap: int) -> None:
    """And less if nights are independent."""
    random, count, chance = np.random.default_rng(1), past + ahead + gap - 1, 0.02
    fresh = random.standard_normal((50_000, count))
    correlated = fresh.copy()
    for night in range(1, count):
        correlated[:, night] = 0.5 * correlated[:, night - 1] + math.sqrt(0.75) * fresh[:, night]
    rates = []
    for nightly in (correlated, fresh):
        values = nightly.T
        chosen = [np.repeat((np.arange(count) < past)[:, None], len(fresh), axis=1)]
        chosen.append(np.repeat((np.arange(count) >= count - ahead)[:, None], len(fresh), axis=1))
        allowed = nights.allowed_above(values, *chosen, np.full(len(fresh), chance), 0.5)
        rates.append(np.mean(values[-ahead:].mean(axis=0) - values[:past].mean(axis=0) > allowed))
    assert rates[0] == pytest.approx(chance, abs=4 * math.sqrt(chance / len(fresh)))
    assert rates[1] < rates[0]


def test_the_night_alone_has_the_whole_chance_until_nights_can_be_compared_together() -> None:
    assert [replayed(*[1.0] * later).share[0] for later in (1, 2)] == [1.0, nights.SHARES[0]]


def test_last_nights_are_compared_with_the_first_ten_and_with_all_before_them() -> None:
    """The second limit is closer, the longer the history is."""
    short, long = (replayed(*[1.0, 1.005, 0.995] * count) for count in (6, 12))
    assert short.together[:, 0].tolist() == [12, 12, 4, 4]
    assert long.allowed[1, 0] < long.allowed[0, 0] == pytest.approx(short.allowed[0, 0])
    assert long.allowed[1, 0] < short.allowed[1, 0]
    early = replayed(*[1.0] * 4)
    assert early.together[:, 0].tolist() == [4, 0, 0, 0]  # one and the same comparison
    assert math.isnan(early.drifts[1, 0])


def test_common_factors_share_a_part_of_the_chance() -> None:
    of_point, of_factors = nights.shared(0.01, 40, [False, True], 10)
    assert 40 * of_point + sum(of_factors) == pytest.approx(0.01)
    assert of_factors[0] > of_factors[1] > of_point
    assert nights.shared(0.01, 40, [], 10) == (0.01 / 40, [])
    assert nights.shared(0.01, 40, [False, True], 9) == (0.01 / 42, [0.01 / 42] * 2)  # none is compared together yet


def test_the_first_nights_lie_no_nearer_to_their_own_level_than_a_later_one() -> None:
    """Else the limit of a common factor is too low if nights have nothing in common."""
    random, chance, beyond = np.random.default_rng(1), 0.05, 0
    for _ in range(1000):
        factors = nights.common_factor(random.standard_normal((11, 100)))
        past, tonight = (np.arange(11)[:, None] < 10, np.arange(11)[:, None] == 10)
        allowed = nights.allowed_above(factors[:, None], past, tonight, np.full(1, chance), 0.5)
        beyond += int(factors[-1] - factors[:-1].mean() > allowed[0])
    assert beyond < 1.6 * chance * 1000


@pytest.fixture(scope="module")
def fortnight() -> list[tuple[str, Any]]:
    """Ten nights, one that is slower, and three as before."""
    return [
        (f"day{day:02}", records.table(campaign(day, factor=1.5 if day == 10 else 1.0, sizes=(8,))))
        for day in range(14)
    ]


def test_the_gate_names_what_is_not_in_the_reference(fortnight: list[tuple[str, Any]]) -> None:
    tonight = records.table(campaign(100, sizes=(8,)))
    result = gates.gate("today", tonight, fortnight)
    assert result.rejected == (("day10", 2),)
    assert result.waiting == ("day11", "day12", "day13")
    assert {one.limit.campaigns for one in numbers(result)} == {10}
    assert not result.failed
    text = gated.text(result)
    assert "not in the reference, because they were worse than the campaigns before: day10 (2 comparisons)" in text
    accepted = gates.gate("today", tonight, fortnight, accepted={"day10"})
    assert accepted.rejected == ()
    assert {one.limit.campaigns for one in numbers(accepted)} == {11}
    assert numbers(accepted)[0].limit.value > numbers(result)[0].limit.value
    many = [(f"slow{day}", records.table(campaign(50 + day, factor=1.5, sizes=(8,)))) for day in range(12)]
    usual = numbers(gates.gate("today", tonight, [*fortnight[:10], *many]))[0].usual
    assert usual == pytest.approx(numbers(result)[0].usual, rel=0.02)  # what is not in the reference is not usual


def test_a_lasting_change_that_no_night_shows_fails() -> None:
    slightly = [
        (f"late{day}", records.table(campaign(20 + day, factor=1.01, sizes=(8,), spread=0.002))) for day in range(12)
    ]
    base = [(f"day{day:02}", records.table(campaign(200 + day, sizes=(8,), spread=0.01))) for day in range(10)]
    result = gates.gate("today", slightly[11][1], [*base, *slightly[:11]])
    failed = numbers(result, "fail")
    assert [one.statistic for one in failed] == ["p50", "p99"]
    assert all(one.drift and one.drift.failed and one.beyond < one.limit.beyond for one in failed)
    assert "the last 12 campaigns are together +" in sentence(result.verdicts[0])
    found = json.loads(gated.as_json(result))["verdicts"][0]["drift"]
    assert found["failed"]
    assert found["change"] > found["limit"] > 0


def test_a_change_is_drawn_in_the_table(fortnight: list[tuple[str, Any]]) -> None:
    result = gates.gate("today", records.table(campaign(100, factor=1.5, sizes=(8,))), fortnight)
    row = gated.text(result).splitlines()[2]
    bars = row.split()[-1]
    assert len(bars) == 15
    assert [place for place, bar in enumerate(bars) if bar == "█"] == [10, 14]  # the night that was slow, and this one
    assert set(bars) - {"█"} <= set("▁▂")
    assert len(json.loads(gated.as_json(result))["verdicts"][0]["campaigns"]) == 15
    assert gated.as_markdown(result).count("█") == 4


def test_a_drawing_is_in_the_scale_of_the_limit() -> None:
    assert gated.sparkline([1.0, 1.01], 1.0, 2.0) == "▁▁"
    assert gated.sparkline([5.0, 5.0]) == "▁▁"
    lone = gates.gate("today", records.table(campaign(100)), HISTORY[:1], chance=1e-6)
    assert all(len(one.campaigns) == 2 for one in numbers(lone))


def wide(days: int = 5) -> list[tuple[str, Any]]:
    """A history that differs by orders of magnitude between days."""
    return [(f"day{day}", records.table(campaign(day, factor=4.0**day))) for day in range(days)]


def test_a_gate_that_cannot_notice_is_blind_and_prints_no_absurd_limit() -> None:
    result = gates.gate("today", records.table(campaign(100, factor=50)), wide())
    of_8 = [one for one in numbers(result, "blind") if one.point == "8 B"]
    assert len(of_8) == 2
    assert result.blind == 2
    assert not result.failed
    assert any(
        "blind, so that a point 50 % worse is not noticed: 2 of 4 comparisons" in words
        for words in gated.warnings(result)
    )
    assert all(math.isnan(one.smallest) and math.isnan(one.allowed) for one in of_8)
    texts = {name: write(result) for name, write in gated.FORMATS.items()}
    assert not any(unit in text for text in texts.values() for unit in (" year", " day", " h,", " h:"))
    assert json.loads(texts["json"])["blind"] == 2
    root = ET.fromstring(texts["junit"])
    assert (root.attrib["skipped"], root.attrib["errors"]) == ("2", "1")
    assert [one.attrib["type"] for one in root.iter("error")] == ["inconclusive"]
    allowed = ET.fromstring(gated.junit(dataclasses.replace(result, blind_allowed=True)))
    assert (allowed.attrib["skipped"], allowed.attrib["errors"]) == ("2", "0")
    assert "labkit gate: blind" in texts["markdown"]


@pytest.mark.parametrize("statistic", ["p50", "p99"])
def test_the_smallest_change_that_fails_is_just_the_limit(statistic: str) -> None:
    """A point slightly worse than the smallest failing change fails; one slightly better passes."""
    one = next(v for v in numbers(judge(campaign(100))) if (v.point, v.statistic) == ("8 B", statistic))
    assert 0 < one.smallest < 0.5
    assert one.usual * (1 + one.smallest) == pytest.approx(one.limit.value)
    for more, outcome in ((0.02, "fail"), (-0.02, "pass")):
        factor = (1 + one.smallest + more) * one.usual / one.value
        found = numbers(judge(campaign(100, factor=factor, spread=0.0)), outcome)
        assert ("8 B", statistic) in [(one.point, one.statistic) for one in found]


def test_a_practical_rule_stands_beside_the_statistical_one() -> None:
    slow = records.table(campaign(100, factor=50))
    result = gates.gate("today", slow, [(name, table) for name, table in wide(2)], worse=0.25)
    failed = numbers(result, "fail")
    assert {one.point for one in failed} == {"8 B"}
    assert result.blind == 0
    assert failed[0].smallest <= 0.25
    assert "6 of 6 launches worse by 25 %" in sentence(result.verdicts[0])
    for better in ("lower", "higher"):
        assert gates.times_worse(*((5.0, 4.0) if better == "lower" else (4.0, 5.0)), better) == 1.25


def halved(day: int, factor: float, slow: int = 3) -> pd.DataFrame:
    """A campaign of which some launches at 8 B are slower by a factor."""
    usual, other = records.table(campaign(day)), records.table(campaign(day, factor=factor))
    first = (other["message_size_B"] == 8) & (other["launch"] < slow)
    return pd.concat([other[first], usual[~first]], ignore_index=True)


def rows_of(result: gates.Result) -> list[list[str]]:
    """The verdict, benchmark, point, limit and launches beyond it of each row of the Markdown table."""
    rows = [line.strip("|").split(" | ") for line in gated.as_markdown(result).splitlines() if "`mpi." in line]
    return [[one.strip(" `") for one in (*row[:3], row[6], row[7])] for row in rows]


def test_the_practical_rule_follows_from_the_printed_median() -> None:
    """Half of the launches are a thousand times slower: so is the median, which is printed, so it fails."""
    few = [(name, table[table["launch"] < 2]) for name, table in HISTORY[:2]]  # no limit from the past
    result = gates.gate("today", halved(100, 1500.0), few, worse=0.25)
    failed = numbers(result, "fail")
    assert [one.point for one in failed] == ["8 B", "8 B"]
    assert all(one.value > 500 * one.usual and one.over * 2 == one.launches for one in failed)
    assert all(one.decided.how == "counted" for one in result.verdicts if one.form == "fail")
    verdict, _, _, limit, beyond = rows_of(result)[0]
    assert (verdict, beyond) == ("fail", "3 of 6 (the median decides)")
    assert limit == f"{failed[0].usual * 1.25:.4g} µs"
    for factor in (1.1, 1.2, 1.3, 1.6, 3.0):
        for slow in range(7):
            for one, found in gates.gate("today", halved(100, factor, slow), few, worse=0.25).compared:
                assert (one.form == "fail") == (found.value >= 1.25 * found.usual)
                assert found.decisive[0] == pytest.approx(1.25 * found.usual)


def test_a_median_beyond_the_limit_never_plainly_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """Three of six launches are not enough for the declared chance of false alarms, and are said to be too few."""
    result = gates.gate("today", halved(100, 1500.0), HISTORY)
    assert (result.failed, result.undecided, result.inconclusive) == (False, 2, True)
    assert dataclasses.replace(result, blind_allowed=True).inconclusive
    assert rows_of(result)[0][0] == "undecided"
    assert rows_of(result)[0][4] == "3 of 6 (4 needed: undecided)"
    assert rows_of(result)[0][3].endswith(" µs")
    assert "4 needed: undecided" in sentence(result.verdicts[0])
    assert any(words.startswith("undecided: 2 comparisons") for words in gated.warnings(result))
    assert "2 undecided" in gated.text(result)
    assert "labkit gate: undecided" in gated.as_markdown(result)
    assert [one.attrib["type"] for one in ET.fromstring(gated.junit(result)).iter("error")] == ["inconclusive"]
    assert "undecided" in gated.github(result)
    far = gates.gate("today", halved(100, 1e9), wide())  # no limit is printed that is beyond ten times the usual
    undecided = numbers(far, "undecided")
    assert undecided
    assert all(one.value > one.allowed for one in undecided)


@pytest.mark.parametrize("partial", ["new", "past"])
def test_a_tail_that_show_refuses_to_print_is_not_judged(partial: str) -> None:
    """A tail that only some launches of a campaign have does not exist there, as in the summary."""

    def cut(table: pd.DataFrame) -> pd.DataFrame:
        column = table["latency_us_p99"].where((table["launch"] < 3) | (table["message_size_B"] != 8))
        return table.assign(latency_us_p99=column)

    new, past = records.table(campaign(100, factor=2)), HISTORY
    if partial == "new":
        new = cut(new)
        assert math.isnan(records.summary(new).set_index("message_size_B")["latency_us_p99"][8])
    else:
        past = [(name, cut(table)) for name, table in past]
    found = numbers(gates.gate("today", new, past))
    assert sorted((one.point, one.statistic) for one in found) == [("64 B", "p50"), ("64 B", "p99"), ("8 B", "p50")]
    whole = numbers(gates.gate("today", records.table(campaign(100)), [*HISTORY[:7], ("cut", cut(HISTORY[7][1]))]))
    assert {one.limit.campaigns for one in whole if (one.point, one.statistic) == ("8 B", "p99")} == {7}


def test_the_chance_of_false_alarms_is_stated_only_where_it_holds() -> None:
    new, known = records.table(campaign(100)), "chance of any false alarm 1 % (Bonferroni)"
    assert known in gated.text(judge(campaign(100)))
    assert json.loads(gated.as_json(judge(campaign(100))))["false_alarms"] == 0.01
    few = [(name, table[table["launch"] < 2]) for name, table in HISTORY[:2]]
    nothing = gates.Result("today", (), 0.01, 0, ())
    for result in (judge(campaign(100), worse=0.25), gates.gate("today", new, few), nothing):
        assert not any("Bonferroni" in write(result) for name, write in gated.FORMATS.items() if name != "json")
        assert json.loads(gated.as_json(result))["false_alarms"] is None
    assert "the chance of a false alarm by --worse is not known" in gated.text(judge(campaign(100), worse=0.25))


def test_variables_that_changed_are_named_in_every_format() -> None:
    now = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}
    result = judge(campaign(100, environment=now))
    assert numbers(result)[0].differs == ("OMPI_MCA_btl tcp,self instead of -", "OMPI_MCA_pml ob1 instead of -")
    for name, write in gated.FORMATS.items():
        assert all(variable in write(result) for variable in now), name


def kept(folder: Path, points: list[Samples]) -> Path:
    """A campaign with these points."""
    one = Campaign(folder)
    for point in points:
        one.save(point, point.meta["fingerprint"])
    return folder


def test_exit_codes_and_folders_of_campaigns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day in range(4):
        kept(tmp_path / "nightly" / f"day{day}", campaign(day))
    same, slow = kept(tmp_path / "same", campaign(100)), kept(tmp_path / "nightly" / "slow", campaign(101, factor=2))
    history = str(tmp_path / "nightly")
    assert cli.main(["gate", str(slow), "--against", history, "--format", "json"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert result["history"] == ["day0", "day1", "day2", "day3"]  # without itself
    assert cli.main(["explain", str(slow)]) == 0
    told = f"labkit explain {slow}{capsys.readouterr().out.splitlines()[0].removeprefix('slow')}"
    for form, head in (("table", f"\n\n{told}\n  no reference MPI latency"), ("markdown", f"**`{told}`**\n\n- `no")):
        assert cli.main(["gate", str(slow), "--against", history, "--format", form]) == 2
        own, found, answer = capsys.readouterr().out.partition(head)
        assert "slow: 2 fail" in own
        assert found
        assert len(answer.splitlines()) < 8
    days = [str(tmp_path / "nightly" / f"day{day}") for day in range(4)]
    assert cli.main(["gate", str(same), "--against", *days]) == 0
    assert cli.main(["gate", str(same), "--against", days[0], "--false-alarms", "0.000001"]) == 3
    assert cli.main(["gate", str(same), "--against", str(same)]) == 1
    uneven = [str(kept(tmp_path / "uneven" / f"day{day}", campaign(day, factor=4.0**day))) for day in range(5)]
    assert cli.main(["gate", str(same), "--against", *uneven]) == 3
    assert "blind" in capsys.readouterr().err
    assert cli.main(["gate", str(same), "--against", *uneven, "--allow-blind"]) == 0
    assert cli.main(["gate", str(same), "--against", *uneven, "--worse", "25%"]) == 0
    assert cli.main(["gate", str(slow), "--against", history, "--accept"]) == 0
    assert "slow is part of the reference of later gates" in capsys.readouterr().err
    assert Campaign(slow).facts["accepted"]
    for wrong in ("25", "0%", "-5%", "1e3%", "nan%"):
        assert cli.main(["gate", str(same), "--against", history, f"--worse={wrong}"]) == 1
    assert cli.main(["gate", str(same), "--against", history, "--false-alarms", "2"]) == 1
    assert "--false-alarms 2" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("shape", simulation.SHAPES)
def test_false_alarms_are_as_rare_as_declared(shape: str) -> None:
    """12 nights of 80 histories, of which 1 % may fail; days scatter together and depend on each other."""
    rates = simulation.alarms(simulation.World(shape, simulation.NOISE, 0.5), 80)
    assert rates.mean() <= 0.025


@pytest.mark.slow
def test_a_lasting_change_and_a_slow_one_are_found_within_twelve_nights() -> None:
    world = simulation.World("lognormal", simulation.NOISE, 0.5)
    first, within, _, absorbed = simulation.found(world, 0.05, 60)
    before = simulation.found(world, 0.05, 60, "old")
    assert first > 0.25 > before[0]
    assert within > 0.9 > before[1]
    assert absorbed < 0.3 < before[3]
    assert simulation.found(world, 0.02, 60, drift=True)[1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_a_change_of_all_points_is_found_within_twelve_nights(correlation: float) -> None:
    """A lasting +5 %, found in 81 % and more of 500 histories, and a drift."""
    world = simulation.World("lognormal", simulation.NOISE, correlation)
    assert simulation.found(world, 0.05, 60, common=True)[1] > 0.65
    assert simulation.found(world, 0.02, 60, drift=True, common=True)[1] > 0.9


@pytest.mark.slow
def test_power_does_not_fall_as_history_grows() -> None:
    early, late = simulation.grown((10, 30), 0.05, 60)
    assert late >= early > 0.2
    early, late = simulation.grown((10, 30), 0.05, 60, common=True)
    assert late >= early > 0.65
