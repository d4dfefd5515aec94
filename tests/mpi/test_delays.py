"""One of several real ranks sleeps in every tenth iteration: the table of slow ranks must name it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.judge.slow_rank import SlowRanks, slow_ranks
from labkit.point.spec import Effort, Spec
from labkit.run import launch

from .. import made
from .conftest import HERE, Run, compiled

pytestmark = pytest.mark.mpi
EFFORT = Effort(iterations=100, time_cap=20)


@pytest.fixture(scope="module")
def delays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sleeping functions, compiled for the handles of the MPI in use."""
    return compiled(HERE / "delays.c", tmp_path_factory.mktemp("delays"))


def verdicts(run_plan: Run, delays: Path, specs: list[Spec], delay: str, rank: int) -> list[SlowRanks]:
    """What the table says of each spec when that rank sleeps."""
    program = (str(HERE / "delayed_worker.py"), str(delays), delay, str(rank))
    frames, ended = run_plan(specs, EFFORT, program=program)
    assert ended.returncode == 0, ended.stderr[-2000:]
    judged = []
    for frame in (frame for frame in frames if frame.header["kind"] == "samples"):
        spec = benchmarks.resolve(specs[frame.header["index"]])
        times = frame.values.reshape(frame.header["shape"])[0]
        judged.append(slow_ranks(made.samples(spec, times, effort=EFFORT, ranks=tuple(frame.header["rows"]))))
    assert len(judged) == len(specs)
    return judged


@pytest.mark.parametrize(
    ("name", "ranks", "delay", "rank"),
    [
        ("allreduce", 2, "late", 1),
        pytest.param("allreduce", 3, "late", 2, marks=pytest.mark.slow),
        pytest.param("bcast", 3, "late", 0, marks=pytest.mark.slow),
        pytest.param("bcast", 3, "slow", 2, marks=pytest.mark.slow),
    ],
)
def test_a_rank_that_sleeps_is_named(run_plan: Run, delays: Path, name: str, ranks: int, delay: str, rank: int) -> None:
    if launch.get("auto").kind == "mpich" and ranks > len(os.sched_getaffinity(0)):
        pytest.skip(
            "MPICH's ranks poll and do not yield: with fewer cores than ranks, the scheduler delays each of them"
        )
    [verdict] = verdicts(run_plan, delays, [Spec(benchmark=f"mpi.{name}", size=8, ranks=ranks)], delay, rank)
    row = verdict.table.loc[rank]
    assert row["slow"], verdict.sentence
    assert f"Rank {rank} was slow" in verdict.sentence
    assert row["slow_iterations"] >= 8
    # on a busy machine it is slow in more iterations than those in which it sleeps
    assert row["slow_iterations"] > 16 or row["excess_us_p50"] >= 15_000
    assert not verdict.table.drop(index=rank)["slow"].any()


@pytest.mark.slow
def test_sleep_inside_a_synchronising_call_is_seen_but_blamed_on_nobody(run_plan: Run, delays: Path) -> None:
    [verdict] = verdicts(run_plan, delays, [Spec(benchmark="mpi.allreduce", size=8, ranks=3)], "slow", 2)
    assert verdict.undecided >= 8
    assert "no rank, or more than one, fits" in verdict.sentence
