"""A summary over launches: no statistic stands in for another, and an interval belongs to its statistic."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit import stats
from labkit.point import columns
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import texts
from labkit.point.spec import Reported, Spec
from labkit.read import records
from labkit.read.columnar import load
from labkit.read.records import tables
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

from . import made

EXAMPLES = sorted(Path(__file__).parents[1].glob("data/campaigns/examples/*/campaign.json"))
COST = ("min", "p50", "p95", "p99", "p999", "max")
RATE = ("min", "p999", "p99", "p95", "p50", "max")
LATENCY = Spec(benchmark="mpi.latency", size=8)
BANDWIDTH = Spec(benchmark="mpi.bandwidth", size=1000, options={"window": 64})


def measured(spec: Spec, times, launch: int = 0) -> Samples:
    return made.samples(spec, times, launch=launch, host={"name": "a"})


def tool(launch: int = 0, metric: str = "latency_us", **values: float) -> Samples:
    return made.samples(LATENCY, launch=launch, reported=made.values(metric, **values))


def summary(*made: Samples) -> pd.DataFrame:
    return records.summary(records.table(made))


def in_order(table: pd.DataFrame) -> None:
    """Every row's statistics rise as their names say, and each lies in its own interval."""
    shown = {name: metric for name, metric in METRICS.items() if any(c.startswith(name) for c in table.columns)}
    for row in table.to_dict("records"):
        for name, metric in shown.items():
            order = RATE if metric.kind == "rate" else COST
            values = [float(row.get(statistic_column(name, s), math.nan)) for s in order]
            known = [value for value in values if not math.isnan(value)]
            assert all(a <= b * (1 + 1e-12) for a, b in itertools.pairwise(known)), (
                row["benchmark"],
                name,
                values,
            )
            for statistic in columns.SHOWN:
                value = float(row.get(statistic_column(name, statistic), math.nan))
                low, high = (float(row.get(columns.end_column(name, statistic, e), math.nan)) for e in columns.ENDS)
                assert math.isnan(low) or low <= value <= high, (row["benchmark"], name, statistic)


times = st.lists(st.integers(1, 10**7), min_size=1, max_size=40)


@settings(max_examples=15)
@given(st.lists(st.tuples(times, st.sampled_from([1, 2, 20, 400])), min_size=1, max_size=7))
def test_statistics_rise_as_their_names_say_whatever_launches_there_are(launches: list[tuple[list[int], int]]) -> None:
    for spec in (LATENCY, BANDWIDTH):
        in_order(summary(*(measured(spec, values * often, n) for n, (values, often) in enumerate(launches))))


stated = st.dictionaries(st.sampled_from([*COST, "mean"]), st.floats(1e-3, 1e6), min_size=1)


@settings(max_examples=25)
@given(st.lists(stated, min_size=1, max_size=7), st.sampled_from(["latency_us", "bandwidth_MBps"]))
def test_statistics_of_tools_rise_too_whatever_they_state(launches: list[dict[str, float]], metric: str) -> None:
    def possible(values: dict[str, float]) -> bool:
        return values.get("min", 0) <= values.get("max", math.inf)

    given = [tool(n, metric, **v) for n, v in enumerate(launches) if possible(v)]
    in_order(summary(*given))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_statistics_of_recorded_campaigns_rise(path: Path) -> None:
    summarised = records.summary(records.table(Campaign(path.parent).samples()))
    assert len(summarised)
    in_order(summarised)


def test_a_percentile_of_one_launch_of_two_is_no_percentile_of_the_point() -> None:
    """The long launch was quiet: its p99.9 alone would lie below the median of both."""
    row = summary(measured(LATENCY, [1000] * 10_000), measured(LATENCY, [9000] * 9000, launch=1)).iloc[0]
    assert math.isnan(row["latency_us_p999"])
    assert texts(row["left_out"]) == ("latency_us_p999: 1 of 2 launches have it",)
    assert row["latency_us_p50"] == row["latency_us_p99"] == pytest.approx(2.5)


def test_a_mean_never_counts_among_medians() -> None:
    row = summary(tool(0, mean=9.0), tool(1, p50=1.0, mean=2.0), tool(2, p50=3.0, mean=4.0)).iloc[0]
    assert math.isnan(row["latency_us_p50"])
    assert (row["latency_us_mean"], row["latency_us_mean_low"], row["latency_us_mean_high"]) == (4.0, 2.0, 9.0)
    assert records.statistic_of(row, "latency_us") == "mean"
    assert texts(row["left_out"]) == ("latency_us_p50: 2 of 3 launches have it",)


@pytest.mark.parametrize("launches", [1, 2, 5, 6, 9])
def test_every_statistic_has_an_interval_of_its_own(launches: int) -> None:
    random = np.random.default_rng(launches)
    made = [measured(LATENCY, 2000 * (1 + random.exponential(1 + i, 1200)), i) for i in range(launches)]
    table = records.table(made)
    row = records.summary(table).iloc[0]
    for name in ("p50", "p95", "p99", "max", "min", "mean"):
        over = stats.headline(table[f"latency_us_{name}"])
        ends = (row[f"latency_us_{name}_low"], row[f"latency_us_{name}_high"])
        assert ends == pytest.approx((over.low, over.high), nan_ok=True)
        assert row[f"latency_us_{name}"] == pytest.approx(over.centre)
        assert row["headline"] == over.label
    if launches > 1:
        assert row["latency_us_p50_high"] < row["latency_us_max_low"]  # the maximum's is not the median's
    assert (row["latency_us_low"], row["latency_us_high"]) == pytest.approx(
        (row["latency_us_p50_low"], row["latency_us_p50_high"]), nan_ok=True
    )


def test_a_metric_of_fewer_launches_than_the_label_names_has_no_interval() -> None:
    both = (Reported("latency_us", "µs", "p50", 1.0), Reported("bandwidth_MBps", "MB/s", "mean", 5.0))
    row = summary(*(made.samples(LATENCY, launch=n, reported=both[: 1 + (n > 1)]) for n in range(6))).iloc[0]
    assert row["headline"] == "95 % interval of 6 launches"
    assert row["bandwidth_MBps_mean"] == 5.0
    assert math.isnan(row["bandwidth_MBps_mean_low"])
    assert math.isnan(row["bandwidth_MBps_low"])
    assert texts(row["left_out"]) == ("interval of bandwidth_MBps: 4 of 6 launches have the metric",)


def test_a_tool_that_contradicts_itself_says_so() -> None:
    row = records.table([tool(p50=2.0, p99=7.0, p999=26.6, max=25.3)]).iloc[0]
    assert "latency_us_p999" not in row
    assert row["latency_us_p99"] == 7.0
    assert texts(row["warnings"]) == (
        "the tool's 99.9th percentile of 26.6 µs contradicts its other statistics, so labkit ignores it",
    )


def test_the_resolution_is_the_clocks_step_in_the_metrics_unit() -> None:
    coarse = records.table([measured(LATENCY, np.arange(100, 400) * 10)]).iloc[0]
    assert coarse["latency_us_step"] == pytest.approx(0.005)  # half of 10 ns
    fine = records.table([measured(BANDWIDTH, np.arange(10_000, 10_300))]).iloc[0]
    assert fine["bandwidth_MBps_step"] == pytest.approx(fine["bandwidth_MBps_p50"] / 10_149.5)


# ---- the launches behind a row


def test_every_value_of_a_recorded_summary_is_the_median_of_its_launches() -> None:
    found = 0
    for rows in records.by_benchmark(records.summary(load("examples/virtual-cluster"))).values():
        for metric in {parts[0] for name in rows if (parts := columns.split(str(name)))}:
            for row in rows.to_dict("records"):
                if statistic := records.statistic_of(row, metric):
                    values, starts, placed = records.launches_of(row, metric, statistic)
                    assert len(starts) == len(placed) == len(values) <= row["launches"]
                    assert np.median(values) == row[statistic_column(metric, statistic)], (row["benchmark"], metric)
                    found += 1
    assert found > 100


def test_one_view_serves_all_rows_and_rows_of_several_summaries_keep_their_own() -> None:
    points = [
        measured(LATENCY.replace(size=size), [size * 1000.0 + launch] * 9, launch)
        for size in (1, 2)
        for launch in range(3)
    ]
    one = summary(*points)
    assert len({id(view) for view in one["of_launches"]}) == 1
    both = pd.concat([one, summary(measured(LATENCY, [7000.0] * 9))], ignore_index=True)
    chosen = both[both["message_size_B"] != 1].sort_values("message_size_B", ascending=False)
    found = [records.launches_of(row, "latency_us", "p50")[0].tolist() for row in chosen.to_dict("records")]
    assert found == [pytest.approx([3.5]), pytest.approx([1.0, 1.0005, 1.001])]


def test_the_launches_of_many_rows_take_each_column_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = summary(*(measured(LATENCY.replace(size=size), [9.0] * 9, n) for size in range(1, 6) for n in (0, 1)))
    listed = rows.to_dict("records")
    made: list[str] = []
    whole = pd.Series.to_numpy

    def counted(column: pd.Series, *args: Any, **options: Any) -> np.ndarray:
        made.append(str(column.name))
        return whole(column, *args, **options)

    monkeypatch.setattr(pd.Series, "to_numpy", counted)
    for row in listed:
        values, starts, _ = records.launches_of(row, "latency_us", "p50")
        assert len(values) == len(starts) == 2
    assert sorted(made) == sorted({*made}), "once for all rows, not for each"


def test_a_launch_without_the_statistic_is_none_of_its_launches() -> None:
    [row] = summary(tool(0, p50=1.0), tool(1, p50=2.0), tool(2, mean=3.0)).to_dict("records")
    assert records.launches_of(row, "latency_us", "p50")[0].tolist() == [1.0, 2.0]


def test_rows_whose_metric_stands_for_another_have_the_launches_of_that() -> None:
    rows = summary(*(measured(LATENCY, [us * 1000.0] * 9, launch) for launch, us in enumerate((2.0, 4.0, 6.0))))
    rows = rows.assign(round_trip_us_p50=2 * rows["latency_us_p50"])
    [row] = records.standing_for(rows, {"round_trip_us": ("latency_us", 2.0)}).to_dict("records")
    assert records.launches_of(row, "round_trip_us", "p50")[0].tolist() == pytest.approx([2.0, 4.0, 6.0])
    assert records.launches_of(row, "latency_us", "p50")[0].tolist() == pytest.approx([1.0, 2.0, 3.0])
    [row] = records.standing_for(rows, {"latency_us": ("latency_us", 2.0)}).to_dict("records")
    assert records.launches_of(row, "latency_us", "p50")[0].tolist() == pytest.approx([2.0, 4.0, 6.0]), "in its place"
    [row] = records.standing_for(rows, {"latency_us": ("latency_us", 2.0)}, [False]).to_dict("records")
    assert records.launches_of(row, "latency_us", "p50")[0].tolist() == pytest.approx([1.0, 2.0, 3.0])
    counted = pd.Series({(row["fingerprint"], launch): 10.0 + launch for launch in range(3)})
    [row] = records.with_launches(rows, "latency_us", "mean", counted).to_dict("records")
    assert records.launches_of(row, "latency_us", "mean")[0].tolist() == [10.0, 11.0, 12.0]


def test_a_record_is_its_own_only_launch_and_files_hold_no_view() -> None:
    table = records.table([measured(LATENCY, [2000.0] * 9)])
    assert records.launches_of(table.iloc[0], "latency_us", "p50")[0].tolist() == pytest.approx([1.0])
    assert "of_launches" not in tables.arrow(records.summary(table)).column_names
    assert "of_launches" not in tables.printed(records.summary(table))
