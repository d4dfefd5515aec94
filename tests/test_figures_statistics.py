"""A figure draws the statistic that was asked for, with its own interval, or leaves a gap and says why."""

import re

import numpy as np
import pytest

from labkit import figures
from labkit.apps.explorer import view
from labkit.apps.explorer.panels.point import facts
from labkit.errors import DataError
from labkit.point.columns import STATISTICS
from labkit.point.spec import Spec
from labkit.read import records
from labkit.store.samples import Samples

from . import made


def shm(size: int, launch: int = 0, n: int = 1200) -> Samples:
    times = 2000 * (1 + launch / 20 + np.random.default_rng([size, launch]).exponential(0.5, n))
    spec = Spec(benchmark="mpi.latency", size=size, transport="shm")
    return made.samples(spec, times, launch=launch, meta={"fingerprint": f"shm{size}"})


def tcp(size: int, launch: int = 0, **values: float) -> Samples:
    spec = Spec(benchmark="mpi.latency", size=size, transport="tcp")
    return made.samples(spec, launch=launch, reported=made.values(**(values or {"mean": 28.2})))


def summary(launches: int = 6, **how):
    measured = [shm(size, launch, **how) for size in (8, 64) for launch in range(launches)]
    return records.summary(records.table([*measured, tcp(8), tcp(64)]))


def named(figure, beginning: str):
    return next(line for line in figure.data if line.name.startswith(beginning))


def heights(line) -> list[float]:
    return [y for y in line.y if y is not None]


def test_a_mean_is_a_line_of_its_own_that_says_so() -> None:
    figure = figures.versus_size(summary(), "latency_us", series=["transport"], tail=None)
    assert {line.name for line in figure.data} == {"shm", "tcp (reported), mean"}
    mean = named(figure, "tcp")
    assert heights(mean) == [28.2, 28.2]
    assert "mean" in mean.hovertemplate
    assert "<br>n: " not in mean.hovertemplate  # the tool states no samples
    assert figure.layout.yaxis.title.text.replace("<br>", " ") == "latency, median or as named (µs)"


@pytest.mark.parametrize(
    ("statistic", "reason"), [("p50", "its source gives only mean"), ("p99", "its source gives only mean")]
)
def test_a_statistic_that_was_asked_for_leaves_a_gap_with_its_reason(statistic: str, reason: str) -> None:
    over = summary()
    figure = figures.versus_size(over, "latency_us", series=["transport"], statistic=statistic, tail=None)
    drawn, empty = named(figure, "shm"), named(figure, "tcp")
    assert heights(drawn) == over[over["transport"] == "shm"][f"latency_us_{statistic}"].tolist()
    assert heights(empty) == []
    assert empty.name == f"tcp (reported): no {STATISTICS[statistic].label}"
    assert reason in " ".join(re.sub(r"<[^>]*>", " ", figure.layout.xaxis.title.text).split())


def test_too_few_samples_for_a_percentile_are_the_reason_of_its_gap() -> None:
    figure = figures.versus_size(summary(), "latency_us", series=["transport"], statistic="p999", tail=None)
    assert all(not heights(line) for line in figure.data)
    assert "a launch has under 10,000 samples" in figure.layout.xaxis.title.text


@pytest.mark.parametrize("statistic", ["p50", "p95", "p99", "max", "mean"])
def test_bars_are_those_of_the_statistic_drawn(statistic: str) -> None:
    over = summary()
    line = named(figures.versus_size(over, "latency_us", series=["transport"], statistic=statistic, tail=None), "shm")
    rows = over[over["transport"] == "shm"]
    assert np.add(line.y, line.error_y.array) == pytest.approx(rows[f"latency_us_{statistic}_high"])
    assert np.subtract(line.y, line.error_y.arrayminus) == pytest.approx(rows[f"latency_us_{statistic}_low"])


def test_the_note_says_what_the_bars_are_of() -> None:
    said = figures.versus_size(
        summary(), "latency_us", series=["transport"], statistic="p99", tail=None
    ).layout.xaxis.title.text
    assert "bars: 95 % interval of 6 launches of the 99th percentile" in said
    lone = figures.versus_size(
        summary(1), "latency_us", series=["transport"], statistic="p99", tail=None
    ).layout.xaxis.title.text
    assert "1 launch each: no interval" in lone


@pytest.mark.parametrize("draw", ["bars", "versus"])
def test_bars_and_lines_against_anything_never_mix_statistics_either(draw: str) -> None:
    over = summary().assign(where=["a", "a", "b", "b"])
    over = over[over["message_size_B"] == 8]
    if draw == "bars":
        figure = figures.bars(over, "transport", "latency_us", series=[])
    else:
        figure = figures.versus(over, "message_size_B", "latency_us", series=["transport"])
    assert sorted(line.name.rpartition(", ")[2] for line in figure.data)[0] == "mean"
    assert "or as named" in figure.layout.yaxis.title.text


def test_a_quantity_named_by_its_column_is_that_column() -> None:
    over = summary()
    figure = figures.versus(over, "message_size_B", {"median": "latency_us_p50"}, series=["transport"])
    assert {line.name for line in figure.data} == {"shm", "tcp (reported): no median"}
    assert heights(named(figure, "tcp")) == []


def test_a_percentile_that_is_not_there_has_its_reason_in_the_hover_text() -> None:
    line = named(figures.versus_size(summary(3, n=60), "latency_us", series=["transport"]), "shm")
    assert "99th percentile: none: it needs 100 samples in each launch, n = 180 in 3 launches" in line.hovertemplate


def test_the_explorer_offers_the_headline_where_sources_differ() -> None:
    over = summary()
    assert view.statistics_of(over, "latency_us")[0] == "headline"
    now = view.usual(["c"], "mpi.latency", over, view.View())
    assert now.statistic == "headline"
    assert len([line for line in now.figure(over).data if heights(line)]) == 2
    alone = over[over["transport"] == "shm"]
    assert view.usual(["c"], "mpi.latency", alone, view.View()).statistic == "p50"
    mean = next(line.name for line in now.figure(over).data if line.name.endswith(", mean"))
    row = now.row(over, mean, 8.0)
    assert row["transport"] == "tcp"


def test_the_explorer_shows_each_statistic_of_a_point_with_its_own_interval() -> None:
    over = summary(3)
    row = over[over["transport"] == "shm"].iloc[0].to_dict()
    said = facts([shm(8, launch) for launch in range(3)], row, "latency_us")
    for name in ("p50", "p99", "mean"):
        assert records.value_of(row, "latency_us", name).range in said
    text = facts([tcp(8)], over[over["transport"] == "tcp"].iloc[0].to_dict(), "latency_us")
    assert "n = 0" not in text
    assert "none: its source gives only mean" in text


def test_rounds_draw_every_launch_in_order_and_the_median_of_each_setting() -> None:
    figure = figures.rounds({"a": [3.0, 1.0, 2.0], "b": [5.0]}, "latency in µs", marked={"a": 1}, why="the lucky one")
    dots, middle, *_ = figure.data
    assert list(dots.y) == [3.0, 1.0, 2.0]
    assert list(dots.x) == sorted(dots.x)
    assert list(dots.marker.size) == [7, 13, 7]
    assert list(middle.y) == [2.0, 2.0]
    assert list(figure.layout.xaxis.ticktext) == ["a", "b"]
    assert "the lucky one" in figure.layout.xaxis.title.text
    with pytest.raises(DataError, match="no launch"):
        figures.rounds({"a": []}, "latency in µs")


def test_a_launch_far_above_all_others_does_not_hide_them() -> None:
    usual = {"a": [10.0, 12.0, 11.0], "b": [11.0, 9.0, 10.0]}
    assert "beyond the axis" not in figures.rounds(usual, "latency in µs").layout.xaxis.title.text
    figure = figures.rounds(usual | {"c": [10.0, 9e5]}, "latency in µs")
    far = figure.data[4]
    assert list(far.y) == [10.0, pytest.approx(13.2)]
    assert far.marker.symbol[0] != far.marker.symbol[1] == "arrow-up"
    assert far.text[1] == "c, launch 2: 900,000"
    assert "beyond the axis (1 of all launches, up to 900,000)" in figure.layout.xaxis.title.text
