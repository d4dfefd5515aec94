"""Which points share a start, and in which order starts follow one another; nothing is started here."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.errors import LaunchError, SpecError
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import launch, measuring, retry, runner, schedule
from labkit.run.launch import Launcher
from labkit.run.launchers._files import file as launcher_file
from labkit.run.measuring import Failure, Point, Progress
from labkit.store.campaign import Campaign

SETTINGS = {"launcher": ["openmpi", "mpich"], "transport": ["shm", "tcp"], "env.OMPI_MCA_btl_x": ["1", "2"]}


@pytest.fixture(autouse=True)
def two_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    launchers = {
        "openmpi": Launcher("openmpi", "/opt/none/mpirun", "Open MPI 4.1.4", (4, 1, 4), launcher_file("openmpi")),
        "mpich": Launcher("mpich", "/opt/none/bin/mpiexec", "MPICH 5.0.2", (5, 0, 2), launcher_file("mpich")),
    }
    monkeypatch.setattr(launch, "installed", lambda: launchers)


def order(effort: Effort) -> list[list[list[Point]]]:
    """Starts of every launch."""
    specs = [
        *sweep("mpi.latency", sizes="1:64", **SETTINGS),
        *sweep("mpi.allreduce", sizes="8:64", ranks=4, **SETTINGS),
    ]
    points = measuring.expand(specs, effort)
    return [schedule.starts([p for p in points if p.launch == n], effort) for n in range(effort.launches)]


def test_settings_take_turns_within_a_launch() -> None:
    for starts in order(Effort(launches=6)):
        assert len(starts) == 16
        # eight settings of the same work side by side, each with all its sizes in one start
        for block in (starts[:8], starts[8:]):
            assert len({point.spec.work.replace(size=0) for start in block for point in start}) == 1
            assert len({tuple(start[0].spec.setting.items()) for start in block}) == 8
            assert all(len({tuple(p.spec.setting.items()) for p in start}) == 1 for start in block)
            assert len({len(start) for start in block}) == 1


def test_no_setting_is_always_first() -> None:
    launches = order(Effort(launches=40))
    first = Counter(starts[0][0].spec.launcher for starts in launches)
    assert min(first["openmpi"], first["mpich"]) >= 10
    assert len({starts[0][0].spec.benchmark for starts in launches}) == 2


def test_the_seed_fixes_the_order() -> None:
    assert order(Effort(launches=2)) == order(Effort(launches=2))
    assert order(Effort(launches=2)) != order(Effort(launches=2, seed=2))


def test_command_lines_come_in_the_order_of_the_starts() -> None:
    effort = Effort(launches=2)
    points = measuring.expand(sweep("mpi.latency", sizes="1:64", **SETTINGS), effort)
    lines = measuring.commands(points, effort)
    starts = schedule.starts([p for p in points if p.launch == 0], effort)
    assert len(lines) == len(starts) == 8
    for line, start in zip(lines, starts, strict=True):
        assert ("/opt/none/mpirun" if start[0].spec.launcher == "openmpi" else "/opt/none/bin/mpiexec") in line
        assert f"OMPI_MCA_btl_x={dict(start[0].spec.environment)['OMPI_MCA_btl_x']}" in line
        assert " -m labkit.worker eN" in line


@pytest.mark.parametrize("fields", [{"bind": "core"}, {"environment": {"A": "1"}}])
def test_settings_of_ranks_are_refused_where_there_are_none(fields: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=r"storage.read has no MPI ranks|micro.clock has no MPI ranks"):
        measuring.expand(
            [Spec(benchmark="storage.read" if "environment" in fields else "micro.clock", **fields)], Effort()
        )


def test_what_cannot_start_bars_only_what_starts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    tool = {"launcher": "none", "ranks": 1}
    tried: list[Spec] = []
    refused = LaunchError("no", lasting=True)

    def run(points: Sequence[Point]) -> Iterator[Failure]:
        tried.append(points[0].spec)
        yield Failure(points[0], refused)

    reported: list[Failure] = []
    serve = retry.FailedHosts().watched(run, reported.append)
    alike = [
        Spec(benchmark="mpi.latency", size=8, launcher="openmpi", transport="shm"),
        Spec(benchmark="sockets.tcp_rr", size=1, **tool),
        Spec(benchmark="storage.read", size=4096, **tool),
        Spec(benchmark="mpi.latency", size=8, launcher="openmpi", transport="tcp"),
    ]
    later = [
        Spec(benchmark="mpi.bandwidth", size=8, launcher="openmpi", transport="shm"),
        Spec(benchmark="sockets.tcp_rr", size=2, **tool),
    ]
    failures = [one for spec in (*alike, *later) for one in serve([Point(spec, 0, "0" * 16, "")])]
    assert tried == alike
    assert [one.point.spec for one in reported] == later
    assert len(failures) == 6


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"done": "x", "total": 1, "label": "", "elapsed": 0, "remaining": 0}', '{"other": 1}']
)
def test_progress_that_no_labkit_wrote_is_none(tmp_path: Path, content: str) -> None:
    campaign = Campaign(tmp_path / "c")
    assert Progress.at(campaign) is None
    (campaign.path / measuring.PROGRESS).write_text(content)
    assert Progress.at(campaign) is None
    state = Progress(1, 2, "a", 0.5, float("nan"), 3, 0.1)
    campaign.put(measuring.PROGRESS, json.dumps(dataclasses.asdict(state)))
    assert repr(Progress.at(campaign)) == repr(state)


def test_every_benchmark_that_labkit_runs_has_a_runner() -> None:
    for name, benchmark in benchmarks.find().items():
        assert benchmark.runner in runner.RUNNERS, name
    simulated = Spec(benchmark="mpi.latency", testbed="simulated:fat-tree,nodes=16")
    assert runner.runner_of(simulated) is runner.get("simulation")
    assert runner.runner_of(Spec(benchmark="mpi.latency")) is runner.get("ranks")
    for name in runner.RUNNERS:
        assert callable(runner.get(name).launched), name


def test_points_of_ranks_load_no_other_runner() -> None:
    script = (
        "import sys\nfrom labkit.point.spec import Spec\nfrom labkit.run import measuring, runner\n"
        "runner.runner_of(Spec(benchmark='mpi.latency'))\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('labkit.run.', 'labkit.testbeds.'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "labkit.run.ranks" in loaded
    assert not {"labkit.run.simulations", "labkit.run.interference", "labkit.testbeds.simulation"} & {*loaded}
