"""Real ranks that reduce their times among themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import labkit
from labkit.judge import slow_rank
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.store.campaign import Campaign

from .conftest import printed_by

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(5, marks=pytest.mark.slow)])
def test_ranks_reduce_to_what_rank_0_makes_of_every_time(count: int) -> None:
    assert "8 cases agree" in printed_by("reducing_ranks.py", count)


SPECS = [
    Spec(benchmark="mpi.allreduce", ranks=3),
    Spec(benchmark="mpi.iallreduce", ranks=3),
    Spec(benchmark="mpi.allreduce", ranks=3, options={"timing": "total"}),
    Spec(benchmark="mpi.bcast", ranks=3, options={"cadence": "synchronised"}),
    Spec(benchmark="mpi.put_latency", ranks=4),
    Spec(benchmark="mpi.all_pairs", ranks=3),
]


@pytest.mark.slow
def test_points_are_whole_with_extremes_alone(tmp_path: Path) -> None:
    campaign = labkit.measure(SPECS, Effort(launches=1, iterations=60, keep="extremes"), into=tmp_path / "c")
    points = list(campaign.samples())
    assert len(points) == len(SPECS)
    for point in points:
        assert (point.over is None) == (point.spec.benchmark == "mpi.all_pairs")
        if point.over:
            times = point.time_ns
            assert point.effort.keep == "extremes"
            assert (point.over.of_iteration["slowest"] >= times.max(axis=0)).all()
            assert (point.over.of_iteration["fastest"] <= times.min(axis=0)).all()
            assert point.over.iterations == point.n
            assert point.over.of_rank["slowest_count"].sum() == point.n
    table = records.table(points)
    assert (table["n"] > 0).all()
    assert np.isfinite(table["latency_us_mean"]).all()


@pytest.mark.slow
def test_above_64_ranks_extremes_are_kept_unless_all_are_asked_for(tmp_path: Path) -> None:
    spec = Spec(benchmark="mpi.allreduce", ranks=66)
    effort = {"launches": 1, "iterations": 20, "time_limit": 300}
    points = [
        next(iter(labkit.measure(spec, Effort(**effort, keep=keep), into=Campaign(tmp_path / keep)).samples()))
        for keep in ("auto", "all")
    ]
    assert points[0].over is not None
    assert len(points[0].over.ranks) == 66
    assert 8 <= len(points[0].ranks) <= 16
    assert points[1].over is None
    assert points[1].time_ns.shape == (66, 20)
    assert all("oversubscription" in str(point.badges) for point in points)
    assert [slow_rank.slow_ranks(point).iterations for point in points] == [20, 20]
