"""Numbers as people read them: their digits, their interval, their statistic, and what stands for a missing one."""

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import studies
from labkit.apps import show
from labkit.apps.show import results
from labkit.judge import congestion
from labkit.judge.comparison import judging
from labkit.judge.finding import Value
from labkit.models import costs
from labkit.point import units
from labkit.point.spec import Spec
from labkit.read import records
from labkit.read.records import factors
from labkit.report import summary as first_pages
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.suites import following

from . import made

SPEC = Spec(benchmark="mpi.latency", size=8)


def launch(times, number: int = 0, **changes) -> Samples:
    return made.samples(changes.pop("spec", SPEC), times, launch=number, **({"meta": {"fingerprint": "f"}} | changes))


def stated(size: int = 8, **values: float) -> Samples:
    return made.samples(SPEC.replace(size=size), reported=made.values(**values))


def row(*made: Samples):
    return records.summary(records.table(made)).iloc[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00123456, "0.001235"), (12.3456, "12.35"), (0.0, "0"), (math.nan, "–"), (-1.5, "-1.5"), (12345.6, "12,346")],
)
def test_numbers_have_four_digits(value: float, text: str) -> None:
    assert units.format_number(value) == text


@given(st.floats(1e-6, 1e9), st.floats(0, 10))
def test_both_ends_of_an_interval_differ_as_printed_unless_they_are_equal(low: float, share: float) -> None:
    high = low * (1 + share)
    text = units.format_range(low, high)
    assert text.startswith("all ") == (high - low < low * 1e-5) or 0 < share < 1.1e-3 or high < 1e-4, text


def test_no_digit_lies_below_the_step_of_the_clock() -> None:
    value = records.value_of(row(launch([100] * 30 + [110] * 10)), "latency_us")
    assert (value.text, value.step) == ("0.050", pytest.approx(0.005))  # half of a round trip of 10 ns steps
    assert records.value_of(row(launch([1234] * 30 + [1231] * 30)), "latency_us").text in ("0.6163", "0.6162")


def test_an_interval_that_the_clock_cannot_tell_apart_is_said_to_be_one_value() -> None:
    same = row(*(launch([19_980] * 40 + [20_010] * 3, n) for n in range(3)))
    assert records.value_of(same, "latency_us").range == "all 9.990"
    near = row(*(launch([19_980 + 2 * n] * 40, n) for n in range(3)))
    assert records.value_of(near, "latency_us").range == "9.990 to 9.992"


def test_launches_that_agree_by_chance_give_no_more_than_four_digits() -> None:
    close = records.Value("bandwidth_MBps", "p50", 117.530, 117.528, 117.532, "range of 2 launches")
    assert (close.text, close.range) == ("117.5", "all 117.5")
    wide = records.Value("bandwidth_MBps", "p50", 117.530, 112.0, 123.0, "range of 2 launches")
    assert (wide.text, wide.range) == ("118", "112 to 123")


def test_a_value_is_never_that_of_another_statistic_nor_its_interval() -> None:
    mean = row(stated(mean=5.0))
    assert math.isnan(records.value_of(mean, "latency_us", "p99").value)
    assert records.value_of(mean, "latency_us").statistic == "mean"
    random = np.random.default_rng(1)
    over = row(*(launch(2000 * (1 + n / 9 + random.exponential(1, 1500)), n) for n in range(6)))
    tail = records.value_of(over, "latency_us", "p99")
    assert (tail.low, tail.high) == (over["latency_us_p99_low"], over["latency_us_p99_high"])
    assert tail.low > records.value_of(over, "latency_us").high


@pytest.mark.parametrize(
    ("made", "statistic", "why"),
    [
        ([launch([2000] * 3)], "p99", "it needs 100 samples in each launch, n = 3 in 1 launch"),
        ([launch([2000] * 300)], "p999", "it needs 10,000 samples in each launch, n = 300 in 1 launch"),
        ([launch([2000] * 10_000), launch([2000] * 50, 1)], "p999", "only 1 of 2 launches have it"),
        ([stated(mean=5.0, max=9.0)], "p50", "its source gives only maximum, mean"),
    ],
)
def test_what_is_not_there_has_a_reason(made: list[Samples], statistic: str, why: str) -> None:
    record = row(*made)
    assert math.isnan(record.get(f"latency_us_{statistic}", math.nan))
    assert records.why_not(record, "latency_us", statistic) == why


def test_the_table_of_results_names_statistics_and_shows_no_zero_samples() -> None:
    frame = records.table([launch([2000] * 3), stated(16, mean=5.0)])
    text = results.result_table(frame)
    lines = text.splitlines()
    assert any(line.strip().startswith("8 B") and line.split()[-2:] == ["3", "1"] for line in lines)
    stated_line = next(line for line in lines if line.startswith("16 B"))
    assert "5 mean" in stated_line
    assert stated_line.split()[-2:] == ["-", "1"]
    assert "no 99th percentile: it needs 100 samples in each launch" in lines
    assert "no 95th percentile, 99th percentile, maximum: its source gives only mean" in lines


def test_a_weak_percentile_is_marked_in_the_table_of_results() -> None:
    text = results.result_table(records.table([launch(np.arange(2000, 2300))]))
    assert "*: fewer than 10 samples beyond this percentile" in text
    assert "1.148*" in text  # the p99 of 300 samples
    assert "1.142 " in text  # their p95


def test_facts_of_a_host_are_in_readable_units() -> None:
    shown = dict(first_pages.flat({"memory_total_B": 25276502016, "load": {"load_1": 7.95458984375}, "cores": 2}))
    assert shown == {"memory total": "23.54 GiB", "load 1": "7.955", "cores": "2"}


def test_a_followed_campaign_names_the_statistic_and_no_zero_samples(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.save(stated(mean=5.0), "0123456789abcdef")
    said = [line for line in following.news(campaign, poll=0.01) if isinstance(line, str)]
    assert any("5 µs (mean)" in line for line in said), said
    assert not any("n 0" in line for line in said)


def test_json_keeps_its_keys() -> None:
    record = json.loads(show.result_json(records.table([launch(np.arange(2000, 2300))])))["records"][0]
    assert {"latency_us_p50", "latency_us_p95", "latency_us_p99", "latency_us_max", "n", "launch"} <= record.keys()


def test_levels_that_differ_are_told_apart() -> None:
    assert [factors.level(value) for value in (1048576.0, 1048577.0)] == ["1048576", "1048577"]
    assert [factors.level(value) for value in (64.0, 0.1 + 0.2, 1e-05, math.nan)] == [
        "64",
        "0.3",
        "0.00001",
        factors.NONE,
    ]


@pytest.mark.parametrize("value", [0.0012, 0.012, 0.333, 1.0, 12.34, 12345.6])
def test_shares_and_numbers_have_no_exponent_and_no_more_digits_than_asked(value: float) -> None:
    for text in (units.format_share(value), units.format_number(value, digits=3), units.format_exact(value)):
        assert "e" not in text
    digits = units.format_share(value / 100).removesuffix(" %").replace(",", "").replace(".", "").strip("0")
    assert len(digits) <= max(2, len(f"{value:.0f}"))


def test_sentences_about_large_numbers_have_no_exponent() -> None:
    assert "12,346 times as long (12,000 to 13,000" in congestion._effect(
        pd.DataFrame(
            [
                {
                    "statistic": "mean",
                    "phase": phase,
                    "factor": 12345.6,
                    "low": 12000.0,
                    "high": 13000.0,
                    "label": "x",
                    "launches": 6,
                    "differs": "longer",
                }
                for phase in ("loaded", "recovered")
            ]
        )
    )


def test_no_sentence_rounds_to_digits_by_itself() -> None:
    """Numbers for people are written by `labkit.point.units`; command lines, coordinates and limits are none."""
    rounding = {
        f"{path.parent.name}/{path.name}"
        for folder in ("judge", "figures", "studies", "report", "read", "apps")
        for path in (Path(units.__file__).parents[1] / folder).rglob("*.py")
        if re.search(r"\{[^{}\n]*:[+,]*\.\d[g%]\}", re.sub(r'float\(f"[^"]*"\)', "", path.read_text()))
    }
    assert rounding <= {"report/methods.py", "records/describe.py", "figures/publication.py"}


def _number(text: str) -> float:
    return float(text.replace(",", "").removeprefix("all "))


def test_a_printed_value_never_lies_outside_its_printed_interval() -> None:
    rng = np.random.default_rng(6)
    judged = judging.judge([judging.Pair(judging.Launches([1.0]), judging.Launches([1.0]), "latency_us")])[0]
    for _ in range(4000):
        scale = 10.0 ** rng.uniform(-3, 6)
        low, value, high = sorted(scale * rng.lognormal(0, 10.0 ** rng.uniform(-4, 0.5), 3))
        cost = costs.Cost(metric="system_call_ns", value=value * 1e-9, low=low * 1e-9, high=high * 1e-9, launches=6)
        row = {"latency_us_p50": value, "latency_us_low": low, "latency_us_high": high, "headline": "range"}
        ratio = dataclasses.replace(judged, ratio=value, ratio_low=low, ratio_high=high)
        texts = [
            str(cost),
            studies.statement(row, "latency_us"),
            f"{Value(value=value, unit='µs', low=low, high=high):interval}",
            f"{ratio.times} ({units.format_range(low, high)})",
        ]
        for text in texts:
            first, ends = re.match(r"([\d,.]+)[^(\[]*[(\[](?:range: )?([^)\]]+)", text).groups()  # type: ignore[union-attr]
            least, _, most = ends.removeprefix("all ").partition(" to ")
            assert _number(least) <= _number(first) <= _number(most or least), text
