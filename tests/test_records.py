"""Records, summaries and reported values, against numbers worked out by hand."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks, stats
from labkit.apps.cli import main
from labkit.errors import DataError
from labkit.point import columns
from labkit.point.notes import joined, texts
from labkit.point.spec import Reported, Spec
from labkit.read import equivalents, records
from labkit.store.samples import Samples

from . import made

HOST = {"name": "node01", "cpu_model": "Test CPU"}
LATENCY = Spec(benchmark="mpi.latency", size=8, options={"timing": "each", "hugepages": False})
BANDWIDTH = Spec(benchmark="mpi.bandwidth", size=1000, options={"window": 64})
ALLREDUCE = Spec(benchmark="mpi.allreduce", size=4096, ranks=4, options={"datatype": "float32", "cadence": "isolated"})


def samples(spec: Spec, time_ns, *, meta=None, **fields) -> Samples:
    known = {"engine": "c", "library": "Open MPI v4.1.4", "verified": True, "badges": ["loopback"]}
    return made.samples(spec, time_ns, host=HOST, meta=known | (meta or {}), **fields)


def tool(*reported: Reported, spec: Spec = LATENCY, **fields) -> Samples:
    return made.samples(spec, host=HOST, reported=reported, **fields)


def test_columns_are_those_of_the_dictionary() -> None:
    frame = records.table([samples(LATENCY, np.arange(1000, 2000)), samples(BANDWIDTH, np.arange(1000, 2000))])
    for name in frame.columns:
        assert name in columns.COLUMNS or columns.split(name) or name.startswith("option_"), name
    assert list(frame.columns[: len(columns.COLUMNS)]) == list(columns.COLUMNS)
    assert {n: str(frame[n].dtype) for n in columns.COLUMNS} == {n: c.kind for n, c in columns.COLUMNS.items()}
    assert set(frame["option_window"].dropna()) == {64}


def test_latency_is_half_the_round_trip() -> None:
    row = records.table([samples(LATENCY, np.arange(1000, 3000, 2))]).iloc[0]
    assert (row["latency_us_min"], row["latency_us_max"]) == pytest.approx((0.5, 1.499))
    assert row["latency_us_p50"] == pytest.approx(0.9995)
    assert row["latency_us_p99"] == pytest.approx(1.489)
    assert row["latency_us_ci_low"] < row["latency_us_p50"] < row["latency_us_ci_high"]
    assert row["ci_width"] == pytest.approx(
        (row["latency_us_ci_high"] - row["latency_us_ci_low"]) / row["latency_us_p50"]
    )
    assert math.isnan(row["latency_us_p999"])
    assert (row["n"], row["unreliable"], texts(row["badges"]), row["host"]) == (1000, (), ("loopback",), "node01")
    assert bool(row["verified"])


def test_iterations_that_depend_on_each_other_are_counted_and_warned_of() -> None:
    """The two launches have the same times; those of the second come in order."""
    times = np.random.default_rng(1).permutation(np.arange(1000, 3000, 2))
    made = [samples(LATENCY, times), replace(samples(LATENCY, np.sort(times)), launch=1)]
    rows = records.table(made)
    assert rows["n_eff"][0] > 500
    assert rows["n_eff"][1] < 20
    assert rows["ci_width"][1] > 4 * rows["ci_width"][0]
    assert [[note.code for note in cell] for cell in rows["warnings"]] == [[], ["dependent-iterations"]]
    point = records.summary(rows).iloc[0]
    assert point["n_eff"] == rows["n_eff"].sum()


def test_a_rate_takes_the_slow_side() -> None:
    times = np.concatenate([np.full(980, 1000), np.full(20, 64_000)])
    row = records.table([samples(BANDWIDTH, times)]).iloc[0]
    assert row["bandwidth_MBps_p50"] == pytest.approx(64_000.0)
    assert row["bandwidth_MBps_p99"] == row["bandwidth_MBps_min"] == pytest.approx(1000.0)
    assert row["bandwidth_MBps_max"] == pytest.approx(64_000.0)
    assert row["bandwidth_MBps_mean"] == pytest.approx(64_000 * 1000 / times.sum() * 1e3)  # Σ bytes / Σ time
    assert row["message_rate_per_s_p50"] == pytest.approx(64e6)


def test_interval_of_a_rate_is_the_right_way_round() -> None:
    row = records.table([samples(BANDWIDTH, np.random.default_rng(1).integers(1000, 2000, 500))]).iloc[0]
    low, centre, high = (row[f"bandwidth_MBps_{s}"] for s in ("ci_low", "p50", "ci_high"))
    assert low < centre < high
    assert row["bandwidth_MBps_min"] < row["bandwidth_MBps_p99"] < centre < row["bandwidth_MBps_max"]


def test_collective_counts_its_slowest_rank_and_shows_the_mean_over_ranks() -> None:
    times = np.full((4, 100), 1000)
    times[2] = 9000
    row = records.table([samples(ALLREDUCE, times)]).iloc[0]
    assert row["latency_us_p50"] == pytest.approx(9.0)
    assert row["latency_us_mean"] == pytest.approx(9.0)
    assert row["latency_us_osu_mean"] == pytest.approx((3 * 1.0 + 9.0) / 4)
    assert row["busbw_GBps_p50"] == pytest.approx(2 * 3 / 4 * 4096 / 9000)
    assert row["n"] == 100


def test_pingpong_has_no_mean_over_ranks() -> None:
    assert "latency_us_osu_mean" not in records.table([samples(LATENCY, [1000] * 10)])


def test_one_sided_calls_have_the_mean_of_the_whole_loop_as_osu_prints_it() -> None:
    one = samples(benchmarks.resolve(Spec(benchmark="mpi.put_latency", size=8)), [40] * 100)
    assert "latency_us_osu_mean" not in records.table([one])  # nobody timed the whole loop
    kept = {"loop_ns": [[4000, 4200]], "chunks": [50, 50]}
    row = records.table([replace(one, meta=dict(one.meta) | kept)]).iloc[0]
    assert row["latency_us_p50"] == pytest.approx(0.04)
    assert row["latency_us_osu_mean"] == pytest.approx(0.082)
    fenced = replace(
        one, spec=benchmarks.resolve(one.spec.replace(options={"synchronisation": "fence"})), meta=dict(one.meta) | kept
    )
    assert records.table([fenced]).iloc[0]["latency_us_osu_mean"] == pytest.approx(0.041)  # in turn: half of it
    rate = samples(benchmarks.resolve(Spec(benchmark="mpi.put_bandwidth", size=1000)), [8000] * 100)
    row = records.table([replace(rate, meta=dict(rate.meta) | {"loop_ns": [[10**6]], "chunks": [100]})]).iloc[0]
    assert row["bandwidth_MBps_osu_mean"] == pytest.approx(6400)


@pytest.mark.parametrize(
    "kept",
    [
        {"loop_ns": "x"},
        {"loop_ns": [["a"]]},
        {"loop_ns": [[1], 2]},
        {"loop_ns": [[5]]},
        {"loop_ns": [[5]], "chunks": "x"},
        {"loop_ns": [[5]], "chunks": [0]},
        {"loop_ns": [], "chunks": [1]},
        {"loop_ns": [[True]], "chunks": [1]},
    ],
)
def test_times_of_loops_that_nobody_measured_are_refused(kept: dict[str, object]) -> None:
    one = samples(benchmarks.resolve(Spec(benchmark="mpi.put_latency", size=8)), [40] * 100)
    meta = {name: value for name, value in one.meta.items() if name != "chunks"} | kept
    with pytest.raises(DataError, match=r"has loop_ns=.* they must be rows of whole numbers"):
        records.table([replace(one, meta=meta)])


def test_one_time_around_the_loop_gives_a_mean_and_no_percentile() -> None:
    iterations = np.array([[10, 90]])
    one = samples(
        LATENCY.replace(options={"timing": "total"}),
        [[20_000, 360_000]],
        extras={"iterations": iterations},
        meta={"timing": "total"},
    )
    row = records.table([one]).iloc[0]
    assert row["timing"] == "total"
    assert row["latency_us_mean"] == pytest.approx(380_000 / 100 / 2 * 1e-3)
    assert "latency_us_p50" not in row
    over = records.summary(records.table([replace(one, launch=i) for i in range(6)])).iloc[0]
    assert over["headline"] == "95 % interval of 6 launches"
    assert over["latency_us_low"] == over["latency_us_mean"] == over["latency_us_high"]


def test_size_zero_has_no_bandwidth_and_zero_time_no_rate() -> None:
    frame = records.table([samples(BANDWIDTH.replace(size=0), [1000] * 10)])
    assert frame["bandwidth_MBps_p50"].tolist() == [0.0]
    row = records.table([samples(BANDWIDTH, [0] * 9 + [1000])]).iloc[0]
    assert math.isnan(row["bandwidth_MBps_p50"])
    assert "below the clock's resolution" in joined(row["warnings"])
    assert row["bandwidth_MBps_mean"] == pytest.approx(64_000 * 10 / 1000 * 1e3)


def test_derived_metric_is_a_value() -> None:
    row = records.table(
        [samples(Spec(benchmark="micro.clock", size=0, options={"clock": "monotonic"}), [20, 30, 50])]
    ).iloc[0]
    assert row["clock_step_ns_value"] == pytest.approx(10.0)
    assert row["clock_read_ns_p50"] == pytest.approx(30.0)


def test_reported_values_fill_the_same_columns() -> None:
    row = records.table(
        [tool(Reported("latency_us", "µs", "mean", 12.5), Reported("latency_us", "µs", "p99", 40.0))]
    ).iloc[0]
    assert (row["origin"], row["n"], row["latency_us_mean"], row["latency_us_p99"]) == ("reported", 0, 12.5, 40.0)
    assert row["unreliable"] == ()
    assert math.isnan(row["timer_overhead_ns"])
    assert not row["verified"]


@pytest.mark.parametrize("origin", ["imported", "published", "simulated", "modelled"])
def test_origin_is_kept(origin: str) -> None:
    frame = records.table(
        [tool(Reported("latency_us", "µs", "p50", 2.0), origin=origin), samples(LATENCY, [4000] * 10)]
    )
    assert set(frame["origin"]) == {origin, "measured"}
    assert set(records.summary(frame)["origin"]) == {origin, "measured"}


def test_labelled_values_stand_alone() -> None:
    cells = [
        Reported("write", "kB/s", "value", 1000.0 * i, labels={"file_size_B": 65536, "record_size_B": 4096 * i})
        for i in (1, 2)
    ]
    one = tool(*cells, Reported("iops_per_s", "1/s", "mean", 5.0, t=1.0), Reported("latency_us", "µs", "mean", 3.0))
    frame = records.reported([one])
    assert frame["value"].tolist() == [1000.0, 2000.0, 5.0, 3.0]
    assert frame["record_size_B"].tolist()[:2] == [4096, 8192]
    assert frame["record_size_B"].isna().tolist() == [False, False, True, True]
    assert frame["t"].tolist()[2] == 1.0
    row = records.table([one]).iloc[0]
    assert row["latency_us_mean"] == 3.0
    assert "iops_per_s_mean" not in row  # one moment of many is not a statistic of the whole


def test_label_must_not_hide_a_column() -> None:
    with pytest.raises(DataError, match="'rank'"):
        records.reported([tool(Reported("x", "", "value", 1.0, labels={"rank": 3}))])


@pytest.mark.parametrize(
    ("launches", "label"), [(1, "1 launch"), (3, "range of 3 launches"), (6, "95 % interval of 6 launches")]
)
def test_summary_over_launches(launches: int, label: str) -> None:
    made = [
        samples(LATENCY, [2000 * (i + 1)] * 1000, launch=i, meta={"badges": [f"b{i % 2}"], "clock_ns": 1.0})
        for i in range(launches)
    ]
    over = records.summary(records.table(made))
    assert len(over) == 1
    row, medians = over.iloc[0], [float(i + 1) for i in range(launches)]
    assert (row["launches"], row["headline"], row["n"]) == (launches, label, 1000 * launches)
    assert row["latency_us_p50"] == pytest.approx(np.median(medians))
    assert texts(row["badges"]) == (("b0",) if launches == 1 else ("b0", "b1"))
    if launches > 1:
        assert (row["latency_us_low"], row["latency_us_high"]) == pytest.approx((1.0, launches))
        assert row["spread_within"] == 0.0
        assert row["spread_between"] == pytest.approx(stats.relative_spread(medians))
    else:
        assert math.isnan(row["latency_us_low"])
        assert math.isnan(row["spread_between"])


def test_summary_never_pools_iterations() -> None:
    """The pooled p99 would be 1 µs: 99 % of all iterations; a launch that is slow throughout must not vanish."""
    made = [
        samples(LATENCY, [2000] * 10_000),
        samples(LATENCY, [200_000] * 100, launch=1),
        samples(LATENCY, [200_000] * 100, launch=2),
    ]
    row = records.summary(records.table(made)).iloc[0]
    assert row["latency_us_p50"] == row["latency_us_p99"] == pytest.approx(100.0)


def test_summary_keeps_campaigns_apart_and_joins_on_request() -> None:
    frame = pd.concat([records.table([samples(LATENCY, [1000] * 10)], campaign=c) for c in "ab"], ignore_index=True)
    assert records.summary(frame)["launches"].tolist() == [1, 1]
    assert records.summary(frame, key=("fingerprint", "origin"))["launches"].tolist() == [2]


def test_summary_columns_are_those_of_the_dictionary() -> None:
    over = records.summary(records.table([samples(LATENCY, [1000] * 10), samples(ALLREDUCE, np.full((4, 9), 10))]))
    for name in over.columns:
        known = name in columns.COLUMNS | columns.SUMMARY or columns.split(name) or columns.split_end(name)
        assert known or name.startswith("option_"), name
    assert "launch" not in over
    assert over["benchmark"].tolist() == ["mpi.allreduce", "mpi.latency"]


def test_no_samples_make_an_empty_table() -> None:
    frame = records.table([])
    assert list(frame.columns) == list(columns.COLUMNS)
    assert records.summary(frame).empty
    assert records.reported([]).empty


def test_values_of_single_iterations() -> None:
    assert records.values(samples(LATENCY, [2000, 4000]), "latency_us").tolist() == pytest.approx([1.0, 2.0])
    assert records.values(samples(BANDWIDTH, [1000, 2000]), "bandwidth_MBps").tolist() == pytest.approx([64e3, 32e3])
    with pytest.raises(DataError, match="no metric 'iops_per_s'"):
        records.values(samples(LATENCY, [2000]), "iops_per_s")


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (samples(LATENCY, [10, -1]), "-1 ns"),
        (samples(LATENCY, [10], origin="guessed"), "origin='guessed'"),
        (samples(LATENCY, [[10], [20]], ranks=(0,)), "shape"),
        (samples(LATENCY, [10], meta={"timing": "often"}), "timing='often'"),
        (samples(LATENCY, [10], meta={"badges": "loopback"}), "badges='loopback'"),
        (samples(LATENCY, [10], meta={"elapsed": "long"}), "elapsed='long'"),
        (tool(Reported("latency_us", "µs", "p50", math.nan)), "finite"),
        (samples(Spec(benchmark="mpi.gone", size=8), [10]), "mpi.gone"),
    ],
)
def test_broken_samples_are_refused(broken: Samples, says: str) -> None:
    with pytest.raises(DataError, match=says):
        records.table([broken])


@pytest.mark.parametrize("benchmark", ["mpi.latency", "mpi.gone"])
def test_options_that_no_benchmark_has_survive_reading_comparing_and_export(
    benchmark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log, or another version of labkit, states options that the class of the benchmark lacks."""
    reported = [Reported("latency_us", "µs", "mean", 2.0)]
    spec = Spec(benchmark=benchmark, size=8, options={"forked": 0, "threads": 1, "colour": "red"})
    for name in ("a", "b"):
        meta = {"fingerprint": "0123456789abcdef", "library": "OSU"}
        points = [made.samples(spec, launch=launch, reported=reported, meta=meta) for launch in range(3)]
        campaign = made.campaign(tmp_path / name, points)
    read = list(campaign.samples())
    assert [one.spec for one in read] == [spec] * 3
    assert benchmarks.typed(read[0].spec).values == {"forked": 0, "threads": 1, "colour": "red"}
    assert set(records.table(read)["option_colour"]) == {"red"}
    assert main(["show", str(tmp_path / "a"), "--format", "csv"]) == 0
    assert "red" in capsys.readouterr().out
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert benchmark in capsys.readouterr().out
    assert main(["export", str(tmp_path / "a"), "--output", str(tmp_path / "a.zip")]) == 0
    if benchmark == "mpi.latency":
        assert "colour=red" in equivalents.text(read[:1], "omb")
