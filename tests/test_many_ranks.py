"""Points that keep extremes over their ranks: written, read, and with the conclusions of every time."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.judge import slow_rank
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.stats import across_ranks, histogram
from labkit.store import samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples, compacted
from labkit.worker.retention import suspects

from . import made
from .test_analysis import SEEDS, collective_times, named

PURE = {"pure_ns": 2, "compute_ns": 3, "alone_ns": 3}


def whole(times: NDArray[np.float64], benchmark: str = "mpi.allreduce", **fields: object) -> Samples:
    return made.samples(Spec(benchmark=benchmark, ranks=len(times)), times, host={"name": "node01"}, **fields)


def reduced(point: Samples, rows: tuple[int, ...] = (0, 1)) -> Samples:
    """The same point as ranks reduce it, with every time of some rows."""
    over = across_ranks.summarise(
        point.ranks, point.time_ns, {k: v for k, v in point.extras.items() if k.endswith("_ns")}
    )
    return dataclasses.replace(
        point,
        effort=Effort(keep="extremes"),
        time_ns=point.time_ns[list(rows)],
        ranks=tuple(point.ranks[row] for row in rows),
        extras={name: values[list(rows)] for name, values in point.extras.items()},
        over=over,
    )


def overlapping(seed: int = 1) -> Samples:
    times = collective_times(seed, 5).astype(np.int64)
    return whole(times, "mpi.iallreduce", extras={name: times // share for name, share in PURE.items()})


@pytest.mark.parametrize("point", [whole(collective_times(1, 5)), overlapping()], ids=["plain", "phases"])
def test_records_are_the_same_from_every_time_and_from_extremes(point: Samples) -> None:
    both = records.table([point, dataclasses.replace(reduced(point), launch=1)])
    numbers = both.select_dtypes("float64").drop(columns=["elapsed_s", "timer_overhead_ns"])
    step = [name for name in numbers if name.endswith("_step")]
    first, second = numbers.drop(columns=step).to_numpy()
    np.testing.assert_allclose(second, first, rtol=1e-9, equal_nan=True)
    assert np.isfinite(first).sum() >= 10
    assert both["n"].nunique() == 1


def test_a_mean_over_ranks_and_whole_chunks_are_the_same() -> None:
    times = collective_times(2, 6).astype(np.int64)
    chunked = whole(times[:, :2] * 50, meta={"timing": "total"}, extras={"iterations": np.tile([40, 60], (6, 1))})
    for point in (whole(times, "mpi.multi_latency"), chunked):
        np.testing.assert_allclose(records.seconds(reduced(point)), records.seconds(point), rtol=1e-12)
        one, other = (records.table([kept]) for kept in (point, reduced(point)))
        for column in (name for name in one if name.endswith(("_mean", "_p50"))):
            np.testing.assert_allclose(other[column], one[column], rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize("ranks", [4, 8, 80])
def test_slow_ranks_are_the_same_from_every_time_and_from_extremes(ranks: int) -> None:
    for seed in list(SEEDS)[:6]:
        for late in (None, seed % ranks):
            point = whole(collective_times(seed, ranks, late=late, iterations=300))
            every, extremes = slow_rank.slow_ranks(point), slow_rank.slow_ranks(reduced(point))
            assert every.sentence == extremes.sentence
            assert every.table.equals(extremes.table)
            assert late is None or ranks > 8 or named(every) == [late]


def test_a_late_rank_of_many_keeps_every_time() -> None:
    times = collective_times(3, 80, late=41, iterations=300).astype(np.int64)
    over = across_ranks.summarise(range(80), times)
    assert 41 in suspects(dict(over.of_iteration), 80).tolist()
    quiet = np.random.default_rng(1).normal(5e3, 100, (80, 300)).astype(np.int64)
    assert suspects(dict(across_ranks.summarise(range(80), quiet).of_iteration), 80).size == 0


def test_percentiles_of_a_rank_agree_within_the_error_that_is_stated() -> None:
    times = collective_times(4, 70, iterations=500).astype(np.int64)
    qs = (0.01, 0.25, 0.5, 0.75, 0.99)
    exact = np.quantile(times, qs, axis=1, method="inverted_cdf")
    assert (abs(across_ranks.summarise(range(70), times).quantiles(qs) / exact - 1) <= histogram.ERROR).all()


def test_a_file_brings_everything_back(tmp_path: Path) -> None:
    point = reduced(overlapping())
    samples.save(point, tmp_path / "point.parquet")
    again = samples.load(tmp_path / "point.parquet")
    assert samples.content(again) == samples.content(point)
    assert again.ranks == point.ranks
    assert again.over is not None
    assert again.over.ranks == (0, 1, 2, 3, 4)
    assert (across_ranks.packed(again.over) == across_ranks.packed(point.over)).all()
    assert again.effort.keep == "extremes"
    assert samples.metadata(again)["format"] == 2


def test_points_that_keep_every_time_have_the_first_format(tmp_path: Path) -> None:
    point = overlapping()
    assert samples.metadata(point)["format"] == 1
    samples.save(point, tmp_path / "point.parquet")
    assert samples.load(tmp_path / "point.parquet").over is None


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("rank", 0, 9, "statistics"),  # of an iteration
        ("iteration", 0, 7, "statistics"),
        ("rank", -1, 99, "histogram"),
        ("time_ns", -1, -5, "histogram"),
        ("iteration", -1, 1 << 20, "histogram"),
        ("kind", 0, 2, "rank"),
    ],
)
def test_statistics_that_labkit_never_writes_are_one_error(
    tmp_path: Path, name: str, place: int, value: int, said: str
) -> None:
    path = tmp_path / "point.parquet"
    samples.save(reduced(overlapping()), path)
    raw = samples.read(path)
    assert raw.over is not None
    raw.over[name].setflags(write=True)
    raw.over[name][place] = value
    with pytest.raises(DataError, match=said):
        samples.decode(raw, path)


def test_a_campaign_compacts_around_points_of_many_ranks(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    point = reduced(whole(collective_times(1, 5)))
    campaign.save(point, "0" * 16)
    campaign.save(whole(collective_times(2, 5), launch=1), "1" * 16)
    campaign.compact()
    assert len(campaign.files("mpi.allreduce").points) == 1
    assert not compacted.fits(samples.read(campaign.file("mpi.allreduce", "0" * 16, 0)))
    kept = {one.launch: one.over is not None for one in campaign.samples()}
    assert kept == {0: True, 1: False}
