"""The estimate of a point's bytes before anything starts, and the question what to keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks
from labkit.apps import cli, show
from labkit.apps.explorer.selection import Selection
from labkit.errors import SpecError
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import measuring, sample_volume
from labkit.store import samples
from labkit.suites import plan

from .test_figures_of_many_ranks import quick, whole


def of(benchmark: str, ranks: int, effort: Effort | None = None, **options: object) -> sample_volume.Volume:
    return sample_volume.volume(
        benchmarks.resolve(Spec(benchmark=benchmark, ranks=ranks, options=options)), effort or Effort()
    )


def test_many_ranks_keep_extremes_and_few_keep_all() -> None:
    few, many = of("mpi.allreduce", 64), of("mpi.allreduce", 65)
    assert (few.kept, many.kept) == (few.every, many.extremes)
    assert few.every == 64 * 10_000 * 2
    assert of("mpi.allreduce", 65, Effort(keep="all")).kept == many.every
    assert of("mpi.allreduce", 8, Effort(keep="extremes")).kept == of("mpi.allreduce", 8).extremes
    assert of("mpi.iallreduce", 64).every == 4 * few.every
    assert of("mpi.allreduce", 64, Effort(iterations=100)).every == few.every // 100
    assert of("mpi.all_pairs", 1000).extremes == 0
    assert of("mpi.all_pairs", 1000).kept == 1000 * 10_000 * 2
    assert of("mpi.allreduce", 64, timing="total").every < few.every / 10
    assert of("sockets.tcp_rr", 1).kept == 0


def test_a_file_is_as_large_as_estimated_within_the_factor_that_is_stated(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    points = {
        "every": whole(chance.normal(5e4, 2e3, (40, 5000))),
        "extremes": quick(2000, 400),
    }
    for name, point in points.items():
        samples.save(point, tmp_path / name)
        effort = Effort(iterations=point.n, keep="extremes" if point.over else "all")
        estimate = sample_volume.volume(benchmarks.resolve(point.spec), effort).kept
        assert estimate / 10 < (tmp_path / name).stat().st_size < estimate * sample_volume.WRONG


@pytest.mark.parametrize(
    ("benchmark", "ranks", "iterations", "said"),
    [
        ("mpi.allreduce", 64, 1_000_000, r"Set keep=extremes \(about 70 MB\) or keep=all \(about 128 MB\)"),
        ("mpi.all_pairs", 4000, None, r"Set keep=all \(about 80 MB\), or fewer"),
        ("mpi.allreduce", 1_000_000, None, r"Set keep=extremes \(about 311 MB\) or keep=all \(about 20 GB\)"),
    ],
)
def test_a_large_point_asks_once_what_to_keep(benchmark: str, ranks: int, iterations: int | None, said: str) -> None:
    specs = [benchmarks.resolve(spec) for spec in sweep(benchmark, sizes="8,64", ranks=ranks)]
    with pytest.raises(SpecError, match=said) as caught:
        sample_volume.refuse(specs, Effort(iterations=iterations))
    assert "4 times as much" in str(caught.value)
    for keep in ("all", "extremes"):
        sample_volume.refuse(specs, Effort(iterations=iterations, keep=keep))


def test_the_question_comes_before_anything_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["measure", "mpi.barrier", "--ranks", "64", "-i", "10000000", "--into", str(tmp_path / "c")]
    assert cli.main(words) == 1
    message = capsys.readouterr().err
    assert "--keep auto, but" in message
    assert "Set --keep extremes" in message
    assert not (tmp_path / "c").exists()
    assert cli.main([*words, "--keep", "extremes", "--dry-run"]) == 0
    assert "Samples: about" in capsys.readouterr().out


def test_a_plan_has_the_bytes_of_what_is_missing() -> None:
    points = measuring.expand(sweep("mpi.barrier", sizes=0, ranks=2), Effort(launches=3))
    assert "Samples: about 120 kB on disk, an estimate" in show.plan(points, Effort(launches=3))
    assert plan.Planned(None).bytes == 0  # type: ignore[arg-type]


def test_the_form_names_what_to_keep_as_a_flag() -> None:
    assert Selection(benchmark="mpi.barrier", effort=Effort(keep="all")).words()[-2:] == ["--keep", "all"]
