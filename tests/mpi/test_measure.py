"""The orchestrator with real ranks: resume, failures, time limits, what the samples say of themselves."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest

from labkit.apps import cli
from labkit.apps.show import results
from labkit.errors import KernelError, LaunchError
from labkit.host import filesystems
from labkit.point.spec import Effort, Spec, sweep
from labkit.read import records
from labkit.read.records.factors import differing
from labkit.run import launch, lines, measuring, ranks
from labkit.run.measuring import Point
from labkit.store.campaign import Campaign
from labkit.worker import Reader
from tests.waiting import marked, until

pytestmark = pytest.mark.mpi
SETTINGS = {
    "openmpi": ("OMPI_MCA_btl_tcp_eager_limit", "1000"),
    "mpich": ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "auto"),
}
QUICK = Effort(launches=2, time_cap=0.05)


def replace_command(monkeypatch: pytest.MonkeyPatch, change: Callable[[list[str]], list[str]]) -> None:
    """Have ranks that load from the environment started by another command line."""
    genuine = lines.line_for
    monkeypatch.setenv(filesystems.SWITCH, "no")

    def changed(points: Sequence[Point], effort: Effort) -> lines.Line:
        line = genuine(points, effort)
        return dataclasses.replace(line, command=change(list(line.command)))

    monkeypatch.setattr(lines, "line_for", changed)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    specs = [*sweep("mpi.latency", sizes="8,64Ki", transport=["shm", "tcp"]), Spec(benchmark="mpi.allreduce", size=8)]
    specs.append(Spec(benchmark="micro.clock", ranks=1))
    return measuring.measure(specs, QUICK, into=tmp_path_factory.mktemp("measured"))


def test_every_point_and_launch_has_its_file(campaign: Campaign) -> None:
    points = list(campaign.samples())
    assert len(points) == 6 * 2
    assert {s.launch for s in points} == {0, 1}
    assert all(s.n > 0 for s in points)


def test_a_setting_in_the_environment_is_part_of_the_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, value = next(one for kind, one in SETTINGS.items() if launch.get("auto").kind == kind)
    spec, effort = Spec(benchmark="mpi.latency", size=8), Effort(launches=1, iterations=10)
    campaign = measuring.measure([spec], effort, into=tmp_path)
    monkeypatch.setenv(name, value)
    measuring.measure([spec], effort, into=campaign)
    levels = [dict(one.spec.environment).get(name, "") for one in campaign.samples()]
    assert sorted(levels) == ["", value], "two points, of which the second is not taken for the first"
    assert f"env_{name}" in records.table(list(campaign.samples()))


def test_samples_say_how_they_came_about(campaign: Campaign) -> None:
    for one in campaign.samples("mpi.*"):
        for key in (
            "engine",
            "library",
            "mpi_library",
            "thread_level",
            "command",
            "seed",
            "start",
            "elapsed",
            "warmup",
            "stopped_by",
            "timer_overhead_ns",
            "interface_B",
            "load_start",
            "load_end",
            "rank_hosts",
        ):
            assert key in one.meta, key
        assert one.meta["verified"] is True
        assert one.host["hostname"]


def test_the_path_that_messages_took_is_shown_by_evidence(campaign: Campaign) -> None:
    for one in campaign.samples("mpi.latency"):
        badges = one.meta["badges"]
        assert ("loopback" if one.spec.transport == "tcp" else "shared memory") in badges
        assert "path mismatch" not in badges
        carried = max(one.meta["interface_B"].values())
        if one.spec.transport == "tcp":
            assert carried >= one.n * one.spec.size


def test_measuring_again_starts_nothing(campaign: Campaign) -> None:
    before = (campaign.path / "log.txt").read_text()
    specs = sweep("mpi.latency", sizes="8,64Ki", transport=["shm", "tcp"])
    measuring.measure(specs, QUICK, into=campaign)
    assert (campaign.path / "log.txt").read_text() == before


@pytest.mark.slow
def test_settings_take_turns_and_rows_say_which_they_are(tmp_path: Path) -> None:
    limits = {"env.OMPI_MCA_btl_tcp_eager_limit": ["1024", "65536"]}
    specs = sweep("mpi.latency", sizes="8", transport="tcp", **limits)
    points = list(measuring.measure(specs, Effort(launches=2, time_cap=0.02), into=tmp_path / "c").samples())
    order = [(s.launch, s.spec.environment) for s in sorted(points, key=lambda s: s.meta["start"])]
    assert len(order) == len(set(order)) == 4
    assert [launch for launch, *_ in order] == sorted(launch for launch, *_ in order)
    for one in points:
        limit = dict(one.spec.environment)["OMPI_MCA_btl_tcp_eager_limit"]
        assert f"OMPI_MCA_btl_tcp_eager_limit={limit}" in one.meta["command"]
    frame = records.table(points)
    assert set(frame["env_OMPI_MCA_btl_tcp_eager_limit"]) == {"1024", "65536"}
    head = results.result_table(frame).splitlines()[1]
    assert head.split()[:2] == ["size", "OMPI_MCA_btl_tcp_eager_limit"]


@pytest.mark.slow
def test_libraries_take_turns_in_one_call(tmp_path: Path) -> None:
    home = Path(__file__).resolve().parent.parent.parent
    beside = [str(venv) for venv in (home / ".venv-ompi5", home / ".venv-mpich") if (venv / "bin" / "mpiexec").exists()]
    launchers = [*launch.installed(), *beside]
    if len(launchers) < 2:
        pytest.skip("there is one MPI library here")
    specs = sweep("mpi.latency", sizes="8", launcher=launchers, bind=["core", "none"], transport="shm")
    points = list(measuring.measure(specs, Effort(launches=2, time_cap=0.05), into=tmp_path / "c").samples())
    assert len(points) == len(launchers) * 4
    assert {s.meta["library"] for s in points} == {launch.get(name).library for name in launchers}
    for one in points:
        assert launch.library(one.meta["mpi_library"]) == one.meta["library"]
        assert not [text for text in one.meta["warnings"] if "the ranks loaded" in text]
    assert "library" in differing(records.summary(records.table(points)))


@pytest.mark.slow
def test_more_launches_add_to_those_there_are(campaign: Campaign, tmp_path: Path) -> None:
    shutil.copytree(campaign.path, tmp_path / "c")
    steps: list[measuring.Progress] = []
    spec = Spec(benchmark="mpi.allreduce", size=8)
    measuring.measure(spec, Effort(launches=3, time_cap=0.05), into=tmp_path / "c", progress=steps.append)
    assert steps[-1].done == steps[-1].total == 1


def test_records_have_one_row_for_each(campaign: Campaign) -> None:
    frame = records.table(campaign.samples())
    assert len(frame) == 12
    latency = frame[frame["benchmark"] == "mpi.latency"]
    known = latency[latency["latency_us_p99"].notna()]  # a p99 needs 100 samples
    assert (known["latency_us_p50"] <= known["latency_us_p99"]).all()
    assert (latency["verified"]).all()


@pytest.mark.slow
def test_oversubscribed_ranks_yield_and_are_marked(tmp_path: Path) -> None:
    many = len(os.sched_getaffinity(0)) + 1
    campaign = measuring.measure(
        Spec(benchmark="mpi.allreduce", size=8, ranks=many), Effort(launches=1, iterations=20), into=tmp_path
    )
    one = next(campaign.samples())
    assert "oversubscription" in one.meta["badges"]
    assert one.time_ns.shape == (many, 20)


@pytest.mark.slow
def test_silence_ends_the_ranks_and_keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that hangs is ended at its time limit; what came before is kept and what follows is measured."""

    def hanging(command: list[str]) -> list[str]:
        at = command.index("-m")
        script = (
            "import sys, time\nfrom labkit.worker import rank\nfrom labkit.worker.__main__ import main\n"
            "genuine = rank.Worker._point\n"
            "def point(self, index, spec):\n"
            "    if spec.size == 64: time.sleep(600)\n"
            "    genuine(self, index, spec)\n"
            "rank.Worker._point = point\nsys.exit(main(sys.argv[1:]))\n"
        )
        return [*command[:at], "-c", script, command[-1]]

    replace_command(monkeypatch, hanging)
    effort = Effort(launches=1, iterations=10, time_limit=3)
    began = time.monotonic()
    with pytest.raises(LaunchError, match=r"1 of 3 points × launches failed.*no progress for 3 s in mpi.latency 64 B"):
        measuring.measure(sweep("mpi.latency", sizes="8,64,512"), effort, into=tmp_path)
    assert time.monotonic() - began < 240
    assert sorted(s.spec.size for s in Campaign(tmp_path).samples()) == [8, 512]


@pytest.mark.slow
def test_a_rank_that_dies_is_named_with_the_end_of_its_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(command: list[str]) -> list[str]:
        at = command.index("-m")
        script = (
            "import os, sys\nfrom labkit.worker import rank\nfrom labkit.worker.__main__ import main\n"
            "def point(self, index, spec):\n"
            "    if self.ranks.rank == 1: print('the disk is on fire', file=sys.stderr, flush=True); os.kill(os.getpid(), 9)\n"
            "    self.ranks.barrier()\n"
            "rank.Worker._point = point\nsys.exit(main(sys.argv[1:]))\n"
        )
        return [*command[:at], "-c", script, command[-1]]

    replace_command(monkeypatch, dying)
    with pytest.raises(LaunchError) as caught:
        measuring.measure(Spec(benchmark="mpi.latency"), Effort(launches=1, time_limit=10), into=tmp_path)
    cause = caught.value.__cause__
    assert isinstance(cause, LaunchError)
    assert "the disk is on fire" in cause.stderr
    assert "ended in the middle of mpi.latency" in str(cause)


@pytest.mark.skipif(not shutil.which("ssh"), reason="needs ssh")
def test_a_host_nobody_knows_is_named_and_asked_for_once(tmp_path: Path) -> None:
    spec = Spec(benchmark="mpi.latency", hosts=("nowhere.invalid:4", "elsewhere.invalid:4"))
    with pytest.raises(LaunchError) as caught:
        measuring.measure(spec, Effort(launches=3, time_limit=20), into=tmp_path)
    text = str(caught.value)
    assert "cause: ssh: Could not resolve hostname" in text
    assert re.search(r"Correct the name (nowhere|elsewhere)\S* in --hosts", text)  # some mpiruns cut the domain off
    assert "3 of 3 points × launches failed" in text
    log = (tmp_path / "log.txt").read_text()
    assert log.count("failed mpi.latency") == 3
    assert "Could not resolve hostname" in log
    assert "retrying" not in log


def test_ranks_that_never_meet_are_ended_at_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\nexec sleep 600\n")
    agent.chmod(0o755)
    monkeypatch.setattr(ranks, "STARTING", 1.0)
    asked = (
        ("HYDRA_LAUNCHER_EXEC", str(agent)),
        ("OMPI_MCA_plm_rsh_agent", str(agent)),
        ("PRTE_MCA_plm_ssh_agent", str(agent)),
    )
    spec = Spec(benchmark="mpi.latency", hosts=("a.invalid", "b.invalid"), environment=asked)
    began = time.monotonic()
    with pytest.raises(
        LaunchError, match=r"3 of 3 points × launches failed.*did not connect within 1 s.*a\.invalid, b\.invalid"
    ):
        measuring.measure(spec, Effort(launches=3, time_limit=1), into=tmp_path / "c")
    assert time.monotonic() - began < 240
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(agent) in (one.info["cmdline"] or [])]


def test_wrong_bytes_fail_the_point_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutants: Path) -> None:
    def faulty(command: list[str]) -> list[str]:
        at = command.index("-m")
        program = [str(Path(__file__).parent / "mutant_worker.py"), str(mutants), "drop_last"]
        return [*command[:at], *program, command[-1]]

    replace_command(monkeypatch, faulty)
    with pytest.raises(KernelError, match=r"1 of 2 points × launches failed.*wrong bytes on rank"):
        measuring.measure(sweep("mpi.latency", sizes="0,4096"), Effort(launches=1, iterations=5), into=tmp_path)
    assert [s.spec.size for s in Campaign(tmp_path).samples()] == [0]


def test_the_command_line_prints_records_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = cli.main(
        [
            "measure",
            "mpi.bandwidth",
            "-m",
            "1Ki:2Ki",
            "-i",
            "5",
            "-W",
            "8",
            "--launches",
            "1",
            "--format",
            "json",
            "--into",
            str(tmp_path),
        ]
    )
    printed = json.loads(capsys.readouterr().out)
    assert code == 0
    assert set(printed) == {"records", "points", "warnings"}
    assert [row["message_size_B"] for row in printed["records"]] == [1024, 2048]
    assert [(one["message_size_B"], one["basis"]) for one in printed["points"]] == [
        (1024, "1 launch"),
        (2048, "1 launch"),
    ]
    for row in printed["records"]:
        assert row["bandwidth_MBps_p50"] > 0
        assert (row["n"], row["verified"], row["origin"], row["option_window"]) == (5, True, "measured", 8)


@pytest.mark.slow
def test_an_interval_that_was_asked_for_and_not_reached_is_exit_code_3(tmp_path: Path) -> None:
    arguments = [
        "measure",
        "mpi.allreduce",
        "-m",
        "8",
        "--launches",
        "1",
        "-i",
        "5",
        "--into",
        str(tmp_path),
    ]
    assert cli.main([*arguments, "--ci", "0.02"]) == 3  # five samples have no interval


def test_stopping_leaves_no_rank_behind_and_keeps_the_points(tmp_path: Path, mark: str) -> None:
    command = [
        sys.executable,
        "-m",
        "labkit",
        "measure",
        "mpi.latency",
        "-m",
        "1:64Ki",
        "--time-cap",
        "5",
        "--ci",
        "0.0000001",
        "--into",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until(lambda: list(tmp_path.glob("samples/*/*.parquet")), runs=process)
    process.send_signal(2)
    _, stderr = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "stopped. All measured points are kept" in stderr
    assert marked(mark) == []
    assert [s for s in Campaign(tmp_path).samples() if s.n == 0] == []


@pytest.mark.parametrize(
    ("name", "launches"),
    [("init", 2), *(pytest.param(name, 1, marks=pytest.mark.slow) for name in ("finalize", "hello"))],
)
def test_a_start_is_one_sample_of_a_launch(tmp_path: Path, name: str, launches: int) -> None:
    campaign = measuring.measure(Spec(benchmark=f"mpi.{name}"), Effort(launches=launches), into=tmp_path)
    points = list(campaign.samples())
    assert [s.launch for s in points] == list(range(launches))
    assert [s.time_ns.shape for s in points] == [(2 if name == "init" else 1, 1)] * launches
    table = records.table(points)
    assert (table["latency_us_p50"] > 100).all()
    assert (table["elapsed_s"] >= 0).all()


@pytest.mark.slow
def test_phases_of_an_overlapped_collective_become_columns(tmp_path: Path) -> None:
    specs = [Spec(benchmark="mpi.iallreduce", size=64), Spec(benchmark="mpi.allreduce_persistent", size=64)]
    campaign = measuring.measure(specs, Effort(launches=1, iterations=50), into=tmp_path)
    table = records.table(campaign.samples()).set_index("benchmark")
    row = table.loc["mpi.iallreduce"]
    assert row["latency_us_p50"] >= row["compute_us_p50"] > 0
    assert 0 <= row["overlap_imb_percent_value"] <= 100
    assert row["overlap_osu_percent_value"] >= 0
    assert row["pure_us_p50"] > 0
    assert np.isnan(table.loc["mpi.allreduce_persistent", "pure_us_p50"])  # alone, nothing was computed


@pytest.mark.slow
def test_what_the_library_lacks_is_noted_and_the_rest_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from labkit.kernels import native as kernels\n"
        "kernels.Native.missing = lambda self, functions: [f for f in functions if f == 'MPI_Bcast_init']\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lacking, there = Spec(benchmark="mpi.bcast_persistent"), Spec(benchmark="mpi.bcast")
    effort = Effort(launches=1, iterations=5)
    campaign = measuring.measure([lacking, there], effort, into=tmp_path / "both")
    assert "has no MPI_Bcast_init" in campaign.facts["absent"]["mpi.bcast_persistent"]
    assert [s.spec.benchmark for s in campaign.samples()] == ["mpi.bcast"]
    with pytest.raises(KernelError, match="not in this MPI"):
        measuring.measure(lacking, effort, into=tmp_path / "alone")


@pytest.mark.slow
def test_one_sided_calls_keep_the_time_of_their_loop_and_points_what_others_took(tmp_path: Path) -> None:
    specs = [Spec(benchmark=f"mpi.{name}", size=8) for name in ("put_latency", "get_bandwidth")]
    campaign = measuring.measure(specs, Effort(launches=1, iterations=5000), into=tmp_path)
    for one in campaign.samples():
        [loop_ns] = one.meta["loop_ns"]
        assert len(loop_ns) == len(one.meta["chunks"])
        assert sum(loop_ns) >= one.time_ns.sum() > 0  # the loop has its clock reads as well
        others = one.meta["load_end"]["others"]
        assert others is None or (others["processors"] >= 0 and len(others["named"]) <= 3)
    row = records.table(campaign.samples()).set_index("benchmark")
    assert row.loc["mpi.put_latency", "latency_us_osu_mean"] >= row.loc["mpi.put_latency", "latency_us_mean"]
    bandwidth = row.loc["mpi.get_bandwidth"]
    assert bandwidth["bandwidth_MBps_osu_mean"] <= bandwidth["bandwidth_MBps_mean"]


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_a_plan_too_long_for_a_word_comes_by_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setattr(lines, "WORD", 100)
    specs = [*sweep("mpi.latency", sizes="1:1Ki", transport=transport), Spec(benchmark="micro.clock", ranks=1)]
    campaign = measuring.measure(specs, Effort(launches=1, iterations=10), into=tmp_path / "c")
    points = list(campaign.samples())
    assert len(points) == 12
    assert all(one.meta["command"][-1] == "PLAN" for one in points)
    assert len(list((campaign.path / "starts").iterdir())) == 2, "one record for each start"


@pytest.mark.slow
def test_command_lines_for_a_shell_have_plans_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs, effort = sweep("mpi.latency", sizes="8:64", transport="shm"), Effort(launches=1, iterations=10)
    points = measuring.expand(specs, effort)
    assert len(measuring.commands(points, effort)) == 1
    monkeypatch.setattr(lines, "WORD", len(measuring.commands(points, effort)[0].split()[-1]) - 1)
    commands = measuring.commands(points, effort)
    assert len(commands) > 1
    sizes = 0
    for line in commands:
        done = subprocess.run(["sh", "-c", line], capture_output=True, cwd=tmp_path, timeout=240, check=True)
        sizes += sum(frame.header["kind"] == "samples" for frame in Reader().feed(done.stdout))
    assert sizes == 4


@pytest.mark.slow
def test_an_effort_for_points_that_exist_is_told_and_added_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An old result is not presented as one of the new effort, and launches with the new effort can be added."""
    words = ["measure", "mpi.latency", "-m", "8", "--launches", "2", "--into", str(tmp_path / "c")]
    assert cli.main([*words, "-i", "20", "-x", "2"]) == 0
    assert "measured before" not in capsys.readouterr().err
    assert cli.main([*words, "-i", "50", "-x", "2", "--keep", "all"]) == 0
    told = capsys.readouterr().err
    assert "1 point was measured before with 20 iterations (-i 20); not measured again" in told
    assert "warm-up" not in told, "the same as before"
    assert "samples" not in told.replace("samples: ", ""), "two ranks keep all samples anyway"
    assert cli.main([*words, "-i", "50", "-x", "2", "--add-launches"]) == 0
    assert "measured before" not in capsys.readouterr().err
    assert sorted((one.launch, one.n) for one in Campaign(tmp_path / "c").samples()) == [
        (0, 20),
        (1, 20),
        (2, 50),
        (3, 50),
    ]


@pytest.mark.slow
def test_a_path_that_few_bytes_do_not_prove_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TCP chosen by the environment is not labelled shared memory, however few messages were sent."""
    if launch.get("auto").kind != "openmpi":
        pytest.skip("sets variables of Open MPI")
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")
    monkeypatch.setenv("OMPI_MCA_pml", "ob1")
    for count in (20, 3000):
        words = ["measure", "mpi.latency", "-m", "8,1Ki", "--launches", "1", "-i", str(count), "-x", "1"]
        assert cli.main([*words, "--into", str(tmp_path / str(count))]) == 0
        told = {one.spec.size: [str(note) for note in one.badges] for one in Campaign(tmp_path / str(count)).samples()}
        assert not any("shared memory" in badges for badges in told.values()), told
        assert count == 20 or all("loopback" in badges for badges in told.values()), told
