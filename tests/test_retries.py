"""A point that fails is measured once more by a fresh start, and the end of a run says what became of everything.

The ranks are real; an mpirun of the test's own ends some starts before their time, and notes all of them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.errors import LaunchError
from labkit.point.spec import Effort, Spec
from labkit.run import measuring
from labkit.run.measuring import Point
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

pytestmark = pytest.mark.mpi
EFFORT = Effort(iterations=50, launches=1)
SUITE = """
[parameters]
launches = 1
time_cap = 0.02
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "8,64"
transports = "shm,tcp"
allreduce = ""
clock = false
[[sweep]]
[sweep.setting]
launcher = ["{launcher}"]
"""
# a start is one that brings a plan; version queries are none
WRAPPER = """#!{python} -S
import os, signal, subprocess, sys
words = sys.argv[1:]
os.environ["LD_LIBRARY_PATH"] = {libraries!r} + ":" + os.environ.get("LD_LIBRARY_PATH", "")
if len(words) > 2:
    with open({log!r}, "a") as file:
        file.write("start\\n")
    number = len(open({log!r}).readlines())
    {fault}
os.execv({mpirun!r}, [{mpirun!r}, *words])
"""
OVER_TCP = "'tcp,self' in (*words, os.environ.get('UCX_TLS'))"  # Open MPI's parameter, MPICH's variable
REFUSED = "sys.exit('the switch is down')"


def failing(folder: Path, mpirun: Path, fault: str) -> str:
    """An mpirun with a statement of its own before each start, of which it knows number and words."""
    log, path = folder / "starts", folder / "mpirun"
    log.unlink(missing_ok=True)
    places = {"log": str(log), "mpirun": str(mpirun), "libraries": str(mpirun.resolve().parent.parent / "lib")}
    path.write_text(WRAPPER.format(python=sys.executable, fault=fault, **places))
    path.chmod(0o755)
    return str(path)


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().splitlines())


def points(campaign: Campaign) -> dict[int, Samples]:
    return {one.spec.size: one for one in campaign.samples()}


def test_a_start_that_fails_once_is_made_again_and_its_points_are_marked(tmp_path: Path, mpirun: Path) -> None:
    launcher = failing(tmp_path, mpirun, f"if number == 1: {REFUSED}")
    specs = [Spec(benchmark="mpi.latency", size=size, transport="shm", launcher=launcher) for size in (8, 64)]
    campaign = measuring.measure(specs, EFFORT, into=tmp_path / "c")
    assert starts(tmp_path) == 2
    by_size = points(campaign)
    assert len(by_size) == 2
    for one in by_size.values():
        assert one.n == 50
        assert one.meta["retried"].startswith("the ranks ended before they had connected, for mpi.latency")
        assert one.meta["retried"].endswith("(the switch is down)")
        assert f"measured in a second start, because the first failed: {one.meta['retried']}" in one.meta["warnings"]
    log = (tmp_path / "c" / "log.txt").read_text()
    assert log.count(" retrying mpi.latency") == 2
    assert " failed " not in log


@pytest.mark.slow
def test_a_rank_that_dies_costs_its_point_alone_a_second_start(tmp_path: Path, mpirun: Path) -> None:
    """Killed after its first point, which stays unmarked."""
    folder = tmp_path / "c" / "samples" / "mpi.latency"
    fault = f"""
    if number == 1:
        import glob, time
        ranks = subprocess.Popen([{str(mpirun)!r}, *words])
        while not glob.glob({str(folder)!r} + "/*.parquet"):
            time.sleep(0.005)
        ranks.kill()
        sys.exit(9)
    """.strip()
    specs = [
        Spec(benchmark="mpi.latency", size=size, transport="shm", launcher=failing(tmp_path, mpirun, fault))
        for size in (8, 64, 512)
    ]
    # so many that the second point is still under way when the first one is saved, which waits for up to 0.2 s
    campaign = measuring.measure(specs, Effort(iterations=500_000, launches=1), into=tmp_path / "c")
    by_size = points(campaign)
    assert sorted(by_size) == [8, 64, 512]
    marked = [size for size, one in by_size.items() if "retried" in one.meta]
    assert len(marked) == 1
    assert 2 <= starts(tmp_path) <= 3  # the rest, and the one that was in flight
    log = (tmp_path / "c" / "log.txt").read_text()
    assert next(line.split()[-1] for line in log.splitlines() if " saved " in line) not in {
        f"samples/mpi.latency/{by_size[size].meta['fingerprint']}-0.parquet" for size in marked
    }


@pytest.mark.slow
def test_a_point_that_fails_twice_is_given_up_with_its_reason(tmp_path: Path, mpirun: Path) -> None:
    launcher = failing(tmp_path, mpirun, f"if {OVER_TCP}: {REFUSED}")
    specs = [Spec(benchmark="mpi.latency", transport=path, launcher=launcher) for path in ("shm", "tcp")]
    with pytest.raises(
        LaunchError, match=r"1 of 2 points × launches failed\. .*mpi\.latency 8 B, tcp, launch 0.*"
    ) as raised:
        measuring.measure(specs, EFFORT, into=tmp_path / "c")
    assert "the switch is down" in str(raised.value)
    (failure,) = raised.value.failures
    assert (failure.point, failure.launch) == ("mpi.latency 8 B, tcp", 0)
    assert raised.value.__cause__ is failure.error
    for error in (raised.value, failure.error):
        assert isinstance(error, LaunchError)
        assert "the switch is down" in error.stderr
        assert error.command
        assert error.exit_status == failure.error.exit_status != 0
    assert str(raised.value).count("exit status: ") == 1
    assert starts(tmp_path) == 3, "no third start"
    (kept,) = Campaign(tmp_path / "c").samples()
    assert (kept.spec.transport, "retried" in kept.meta) == ("shm", False)
    log = (tmp_path / "c" / "log.txt").read_text()
    assert log.count(" retrying mpi.latency 8 B, tcp launch 0") == 1
    (failed,) = [line for line in log.splitlines() if " failed mpi.latency 8 B, tcp launch 0: " in line]
    assert failed.endswith("(the switch is down)")


def test_wrong_settings_are_not_tried_twice(tmp_path: Path, mpirun: Path) -> None:
    """A spec that cannot be is refused before anything starts."""
    with pytest.raises(Exception, match="supports auto, shm, tcp"):
        measuring.measure(Spec(benchmark="mpi.latency", transport="pigeon"), EFFORT, into=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def run(folder: Path, launcher: str) -> subprocess.CompletedProcess[str]:
    path = folder / "own.toml"
    path.write_text(SUITE.format(launcher=launcher))
    command = [sys.executable, "-m", "labkit", "run", str(path), "--into", str(folder / "c")]
    clean = {k: v for k, v in os.environ.items() if k != "LABKIT_LEASE"} | {"BROWSER_PATH": "/nowhere"}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, env=clean, check=False)


@pytest.mark.slow
def test_a_run_ends_with_what_was_done_skipped_and_failed_and_its_warnings(tmp_path: Path, mpirun: Path) -> None:
    launcher = failing(tmp_path, mpirun, f"if {OVER_TCP}: {REFUSED}")
    first = run(tmp_path, launcher)
    assert first.returncode == 1, first.stderr
    assert re.search(r"^failed  10-latency", first.stdout, re.M)
    assert "0 of 1 notebook done, 2 points × launches measured, 0 there already" in first.stdout
    for size in ("8 B", "64 B"):
        assert re.search(
            rf"^failed: mpi\.latency {size}, tcp launch 0: the ranks ended .*\(the switch is down\)$",
            first.stdout,
            re.M,
        )
    assert len(re.findall(r"^failed: ", first.stdout, re.M)) == 2
    assert re.search(r"^warning: .* \(\d records\)$", first.stdout, re.M), "badges at least: shared memory"
    second = run(tmp_path, failing(tmp_path, mpirun, f"if number == 1: {REFUSED}"))
    assert second.returncode == 0, second.stdout + second.stderr
    assert re.search(r"^done    10-latency", second.stdout, re.M)
    assert "1 of 1 notebook done, 2 points × launches measured, 2 there already" in second.stdout
    assert not re.search(r"^failed: ", second.stdout, re.M), (
        "what failed in the run before is not a failure of this one"
    )
    assert "2 points needed a second start (marked)" in second.stdout
    assert re.search(
        r"^warning: measured in a second start, because the first failed: .*switch is down\) \(2 records\)$",
        second.stdout,
        re.M,
    )
    shutil.rmtree(tmp_path / "c")


def test_the_reason_of_a_retry_is_one_line(tmp_path: Path) -> None:
    """The mark is one line, however much the ranks wrote."""
    spec = Spec(benchmark="mpi.latency")
    error = LaunchError("rank 1 died; alone", command=["mpirun"], exit_status=9, stderr="many\nlines\n")
    again = measuring.Failure(Point(spec, 0, "f" * 16, "Open MPI"), error).retry()
    assert again.retried == "rank 1 died; alone (lines)"
    facts, (said,) = again.marks
    assert facts == {"retried": "rank 1 died; alone (lines)"}
    assert said.text == "measured in a second start, because the first failed: rank 1 died; alone (lines)"
    assert (said.code, said.value("reason")) == ("retried", "rank 1 died; alone (lines)")
