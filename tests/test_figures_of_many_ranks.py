"""Figures and other readers of points of many ranks: the same from every time and from extremes; sizes in bytes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks, figures, studies
from labkit.apps.explorer.panels import point as panel
from labkit.errors import DataError
from labkit.figures.rank_map import STATISTICS
from labkit.figures.ranks import STEPS
from labkit.point.spec import Effort, Spec
from labkit.read import equivalents
from labkit.read.records import per_rank
from labkit.stats import across_ranks, histogram
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

from . import made
from .test_analysis import collective_times
from .test_many_ranks import reduced, whole


def quick(count: int, iterations: int = 40, *, in_a_node: int = 0, seed: int = 1, **fields: object) -> Samples:
    """A point of many ranks with extremes, made without every time: each rank has a level of its own."""
    chance = np.random.default_rng(seed)
    level = chance.normal(5e4, 2e3, count).astype(np.int64)
    times = (level[:, None] + chance.exponential(2e3, (count, iterations))).astype(np.int64)
    over = across_ranks.summarise(range(count), times)
    hosts = [f"node{rank // in_a_node}" for rank in range(count)] if in_a_node else []
    leaves = {host: f"leaf{int(host[4:]) // 16}" for host in hosts}
    meta = {"rank_hosts": hosts, "placement": {"leaves": leaves}} if hosts else {}
    spec = Spec(benchmark="mpi.allreduce", size=8, ranks=count)
    point = made.samples(spec, times[:3], origin="simulated", meta=meta, effort=Effort(keep="extremes"), **fields)
    return dataclasses.replace(point, over=over)


def title(figure: object, axis: str = "xaxis") -> str:
    """Title of an axis without markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", getattr(figure.layout, axis).title.text).split())


# ---- statistics of ranks


@pytest.mark.parametrize("total", [False, True])
def test_statistics_of_ranks_are_the_same_from_every_time_and_from_extremes(total: bool) -> None:
    chunks = {"meta": {"timing": "total"}, "extras": {"iterations": np.full((6, 301), 50)}} if total else {}
    every = whole(collective_times(3, 6, iterations=301).astype(np.int64) * (50 if total else 1), **chunks)
    extremes = reduced(every)
    assert per_rank.ranks(extremes) == per_rank.ranks(every) == tuple(range(6))
    np.testing.assert_allclose(per_rank.medians(extremes), per_rank.medians(every), rtol=1e-9)
    np.testing.assert_allclose(per_rank.means(extremes), per_rank.means(every), rtol=1e-9)
    assert per_rank.times_slowest(extremes).tolist() == per_rank.times_slowest(every).tolist()
    assert per_rank.times_slowest(every).sum() == 301
    one, other = per_rank.of_iterations(extremes), per_rank.of_iterations(every)
    for name in ("slowest rank", "fastest rank"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-12)
    assert (one["median rank"] <= other["median rank"]).all()
    estimated = per_rank.quantiles(extremes, [0.25, 0.5, 0.75])
    exact = np.quantile(every.seconds, [0.25, 0.5, 0.75], axis=1, method="inverted_cdf")
    assert (abs(estimated / exact - 1) <= histogram.ERROR).all()
    assert per_rank.retention(every, "") == ""


def test_switches_come_from_the_batch_job_or_the_testbed() -> None:
    job = quick(64, in_a_node=2)
    assert per_rank.switches(job)["node17"] == "leaf1"
    virtual = dataclasses.replace(job, meta={"testbed": {"nodes": 4, "per_leaf": 2}})
    assert per_rank.switches(virtual) == {"vc0": "leaf0", "vc1": "leaf0", "vc2": "leaf1", "vc3": "leaf1"}
    assert per_rank.switches(dataclasses.replace(job, meta={})) == {}


# ---- figures


def test_boxes_of_few_ranks_are_of_all_and_say_that_extremes_were_kept() -> None:
    every = whole(collective_times(1, 6, iterations=400))
    one, other = (figures.per_rank([launch]) for launch in (reduced(every), every))
    box, exact = one.data[0], other.data[0]
    assert list(box.x) == list(exact.x) == [str(rank) for rank in range(6)]
    np.testing.assert_allclose(box.median, exact.median, rtol=1e-4)
    for side in ("q1", "q3"):
        np.testing.assert_allclose(box[side], exact[side], rtol=2 * histogram.ERROR)
    assert "extremes were kept of 6 ranks (every time of 2 sampled ranks" in title(one)
    assert "0.78 %" in title(one)
    assert "extremes" not in title(other)


@pytest.mark.parametrize("ranks", [6, 80])
def test_few_iterations_have_no_99th_percentile(ranks: int) -> None:
    few, many = (title(figures.per_rank([whole(collective_times(1, ranks, iterations=n))])) for n in (99, 100))
    assert ("99th percentile" in few, "greatest time" in few) == (False, True)
    assert ("99th percentile" in many, "greatest time" in many) == (True, False)


@pytest.mark.parametrize("launches", [1, 2])
def test_many_ranks_are_bands_with_the_slow_ones_marked(launches: int) -> None:
    every = [whole(collective_times(seed, 80, late=41, iterations=400), launch=seed) for seed in range(launches)]
    for points in (every, [reduced(launch) for launch in every]):
        figure = figures.per_rank(points)
        assert not [trace for trace in figure.data if trace.type == "box"]
        marks = [trace for trace in figure.data if trace.mode == "markers"]
        assert len(marks) == launches
        assert "rank 41" in marks[0].hovertemplate
        (line, *_) = [trace for trace in figure.data if trace.name == "launch 0"]
        assert len(line.y) == 80
        assert launches > 1 or list(line.y) == sorted(line.y)
        assert "80 ranks, ordered by their median" in title(figure)


@pytest.mark.slow
def test_a_figure_of_very_many_ranks_stays_small() -> None:
    point = quick(16_384, in_a_node=64)
    for figure in (
        figures.per_rank([point]),
        *(figures.rank_map([point], statistic) for statistic in STATISTICS),
        figures.over_iterations(point),
        figures.distribution([point], "latency_us"),
    ):
        assert len(figure.to_json()) < 1_000_000
        assert "extremes were kept of 16,384 ranks" in title(figure)
    assert len(figures.per_rank([point]).data[0].x) == STEPS


def test_iterations_are_of_all_ranks() -> None:
    every = whole(collective_times(2, 12, iterations=100))
    one, other = figures.over_iterations(reduced(every)), figures.over_iterations(every)
    for which in (0, 2):
        assert list(one.data[which].y) == list(other.data[which].y)
    few = figures.over_iterations(reduced(whole(collective_times(2, 4, iterations=100))))
    assert [trace.name for trace in few.data] == ["slowest rank", "median rank", "fastest rank"]
    drawn, long = panel.over_iterations(reduced(every))
    assert list(long.lines) == [trace.name for trace in drawn.data]
    assert "extremes" in title(panel.histogram(reduced(every), "latency_us"))


# ---- the map


def test_a_map_has_a_row_for_each_node_by_switch() -> None:
    hosts = ["b10", "b2", "a1"] * 2
    times = np.arange(1, 7)[:, None] * np.full(20, 1000)
    point = whole(times, meta={"rank_hosts": hosts, "clock_ns": 1.0})
    figure = figures.rank_map([point], switches={"b10": "leaf0", "b2": "leaf0", "a1": "leaf1"})
    heat = figure.data[0]
    assert list(heat.y) == ["b2", "b10", "a1"]
    assert [list(row) for row in heat.z] == [[2, 5], [1, 4], [3, 6]]
    assert [list(row) for row in heat.customdata] == [[1, 4], [0, 3], [2, 5]]
    assert len(figure.layout.shapes) == 1, "a line between the two switches"
    assert "by switch" in title(figure, "yaxis")
    plain = figures.rank_map([point])
    assert list(plain.data[0].y) == ["a1", "b2", "b10"]
    assert not plain.layout.shapes


def test_a_map_shows_any_statistic_over_launches() -> None:
    launches = [whole(collective_times(seed, 8, iterations=300), launch=seed) for seed in range(3)]
    slowest = figures.rank_map(launches, "times_slowest")
    assert sum(slowest.data[0].z[0]) == pytest.approx(100, rel=1e-3)
    assert "mean of 3 launches" in title(slowest)
    median = np.median([per_rank.medians(launch) for launch in launches], axis=0) * 1e6
    np.testing.assert_allclose(figures.rank_map(launches).data[0].z[0], median, rtol=1e-3)
    assert "64 ranks each, since their hosts are not known" in title(slowest, "yaxis")
    with pytest.raises(DataError, match="median, p99, times_slowest"):
        figures.rank_map(launches, "p98")
    with pytest.raises(DataError, match="timing=each"):
        figures.rank_map([])


def test_a_map_of_very_many_nodes_keeps_the_greatest_of_neighbours() -> None:
    times = np.full((3000, 3), 1000)
    times[1234] = 9000
    point = whole(times, meta={"rank_hosts": [f"n{rank // 2}" for rank in range(3000)], "clock_ns": 1.0})
    figure = figures.rank_map([point])
    heat = figure.data[0]
    assert len(heat.z) == 500
    assert len(heat.z[0]) == 2
    assert "a cell is the greatest of 3 nodes × 1 ranks" in title(figure)
    (at,) = [row for row, values in enumerate(heat.z) if 9 in values]
    assert heat.y[at] == "n615 … n617"
    assert heat.customdata[at][0] == 1234


# ---- other layouts


@pytest.mark.parametrize(("form", "columns"), [("omb", True), ("imb", False)])
def test_other_layouts_have_the_means_of_all_ranks(form: str, columns: bool) -> None:
    every = whole(collective_times(5, 6, iterations=200).astype(np.int64))
    assert equivalents.text([reduced(every)], form, full=columns) == equivalents.text([every], form, full=columns)


# ---- studies


def test_the_notebook_of_collectives_reads_points_of_many_ranks(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    for launch in range(2):
        point = quick(256, 120, in_a_node=16, launch=launch, seed=launch)
        spec = benchmarks.resolve(point.spec).replace(launcher="openmpi")
        meta = {**point.meta, "fingerprint": "0" * 16, "library": "Open MPI 4.1.4", "engine": "c"}
        campaign.save(dataclasses.replace(point, spec=spec, meta=meta, origin="measured"), "0" * 16)
    study = studies.get("collectives")(campaign=str(campaign.path), measure=False, ranks="256", transports="auto")
    assert len(study.rank_map().data[0].z) == 16
    assert "256 ranks" in title(study.rank_figure())
    assert "(120 iterations, 256 ranks)" in str(study.slow_ranks())


def test_figures_have_the_small_template_and_the_same_bytes_each_time() -> None:
    point = quick(128, in_a_node=8)
    for draw in (figures.rank_map, figures.per_rank):
        figure = draw([point])
        assert len(figure.layout.template.to_plotly_json()["layout"]) < 20
        assert figure.to_json() == draw([point]).to_json()
        assert [trace.uid for trace in figure.data] == [f"t{n}" for n in range(len(figure.data))]
