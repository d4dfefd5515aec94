"""Jobs of a real Slurm on four nodes: submitted, followed, ended in every way, and gone on with."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit import records
from labkit.campaign import Campaign
from tests.slurm.cluster import until
from tests.slurm.conftest import LABKIT, Lab

pytestmark = [pytest.mark.slurm, pytest.mark.netns]


@pytest.fixture(scope="module")
def background(lab: Lab) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """Jobs that take their time while others are tested: an array on two nodes, one that reaches its time limit."""
    small, long = lab.suite("small"), lab.suite("limit", sizes="1:512Ki", cap=1.8, ci=1e-6, transports="shm")
    plain = [*LABKIT, "run", str(small), "--into", str(lab.campaign("plain"))]
    started = {
        "limit": lab.start("submit", long, "--nodes", 1, "--time", 1, "--site", lab.site("vc3")),
        "array": lab.start("submit", small, "--nodes", 2, "--array", 2, "--site", lab.site("vc[0-1]", "srun")),
        "plain": subprocess.Popen(
            plain, env=os.environ | lab.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ),
    }
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def test_an_unknown_partition_is_refused_in_the_words_of_sbatch(lab: Lab, background: object) -> None:
    done = lab.run("submit", lab.suite("refused"), "--partition", "nowhere")
    assert done.returncode == 1
    assert "sbatch refused: sbatch: error: invalid partition specified: nowhere" in done.stderr
    assert "Partitions here: batch, shut." in done.stderr


def test_a_job_that_waits_is_cancelled(lab: Lab, background: object) -> None:
    suite = lab.suite("waiting")
    follower = lab.start("submit", suite, "--nodes", 2, "--partition", "shut", "--site", lab.site("vc[0-1]"))
    assert (
        until(lambda: "PENDING (PartitionDown)" in lab.run("status", "waiting").stdout, 30) or follower.poll() is None
    )
    again = lab.run("submit", suite, "--partition", "shut")
    assert "is PENDING" in again.stderr
    assert "labkit attach" in again.stderr
    done = lab.run("cancel", "waiting")
    assert "CANCELLED" in done.stderr
    follower.communicate(timeout=30)
    assert follower.returncode == 1
    done = lab.run("attach", "waiting")
    assert "ended before it began: CANCELLED" in done.stderr
    assert "ended already" in lab.run("cancel", "waiting").stderr


def test_an_array_repeats_in_allocations_of_their_own(lab: Lab, background: dict[str, "subprocess.Popen[str]"]) -> None:
    out, err = background["array"].communicate(timeout=100)
    assert background["array"].returncode == 0, err
    number = err.partition("labkit: job ")[2].split()[0]
    assert f"job {number}: RUNNING on vc[0-1]" in err
    assert "done:     1 of 1 notebooks, 12 points of 12" in out
    held = list(Campaign(lab.campaign("small")).samples())
    table = records.table(held)
    assert sorted(table["allocation"].unique()) == [f"{number}_0", f"{number}_1"]
    assert set(table[table["launch"] < 2]["allocation"]) == {f"{number}_0"}
    ranks = [one for one in held if one.spec.family == "mpi"]
    assert {tuple(one.meta["rank_hosts"]) for one in ranks} == {("vc0", "vc1")}
    assert all(one.meta["placement"]["span"] == "same leaf" for one in ranks)
    assert all(one.meta["allocation"]["leaves"] == {"vc0": "leaf0", "vc1": "leaf0"} for one in held)
    assert all(one.meta["command"][0].endswith("srun") and "--mpi=pmix" in one.meta["command"] for one in ranks)
    assert not any("leave none" in text for one in held for text in one.meta["warnings"])


def test_a_job_measures_what_a_plain_run_does(lab: Lab, background: dict[str, "subprocess.Popen[str]"]) -> None:
    said, _ = background["plain"].communicate(timeout=60)
    assert background["plain"].returncode == 0, said
    plain, job = (records.table(Campaign(lab.campaign(name)).samples()) for name in ("plain", "small"))
    what = ["benchmark", "message_size_B", "ranks", "options", "launch"]
    assert list(plain.columns) == list(job.columns)
    assert set(map(tuple, plain[what].values)) == set(map(tuple, job[job["launch"] < 2][what].values))
    assert (plain["allocation"] == "").all()
    for table in (plain, job):
        assert (table[table["benchmark"] == "mpi.latency"]["verified"]).all()
        assert (table["n"] > 0).all()
    between = job["benchmark"].str.startswith("mpi.")
    assert not set(job[between]["fingerprint"]) & set(plain["fingerprint"])  # over two hosts it is other work
    assert not job[between]["badges"].str.contains("shared memory").any()


def test_a_cancelled_job_is_gone_on_with(lab: Lab, background: object) -> None:
    suite = lab.suite("cut", sizes="8,16,32,64,128", cap=0.8, ci=1e-6)
    follower = lab.start("submit", suite, "--nodes", 2, "--site", lab.site("vc[0-1]"))
    held = lab.campaign("cut")
    assert until(lambda: len(list(held.glob("samples/*/*.parquet"))) >= 2, 60), follower.poll()
    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=20)
    assert follower.returncode == 130
    assert "goes on. Follow it again: labkit attach" in err
    assert "measured by process" in lab.run("status", "cut").stdout
    assert "CANCELLED" in lab.run("cancel", "cut").stderr
    before = {path: path.stat().st_mtime_ns for path in held.glob("samples/*/*.parquet")}
    assert 2 <= len(before) < 12
    done = lab.run("attach", "cut")
    assert done.returncode == 1
    assert f"It was ended with {len(before)} of 12 points there; these are kept." in done.stderr
    done = lab.run("submit", suite, "--nodes", 2, "--site", lab.site("vc[0-1]"), "-p", "time_cap=0.02")
    assert done.returncode == 0, done.stderr
    assert f"{12 - len(before)} points measured, {len(before)} were there already" in done.stdout
    after = {path: path.stat().st_mtime_ns for path in held.glob("samples/*/*.parquet")}
    assert len(after) == 12
    assert before.items() <= after.items()


def test_a_node_that_dies_is_left_out_and_named(lab: Lab, background: object) -> None:
    suite, dead = lab.suite("node"), "vc1"
    script = lab.folder / "kill.sh"
    script.write_text(f"kill -9 {lab.cluster.pid(dead)}\n")
    place = lab.site("vc[0-2]")
    place.write_text(place.read_text() + f'setup = ["bash {script}"]\n')
    done = lab.run("submit", suite, "--nodes", 3, "--site", place, "-p", "ranks=2")
    table = records.table(Campaign(lab.campaign("node")).samples())
    assert f"left out: node {dead}: ranks and a trivial step failed there in job" in done.stdout + done.stderr, (
        done.stderr
    )
    assert len(table) == 6, done.stderr
    hosts = {tuple(one.meta["rank_hosts"]) for one in Campaign(lab.campaign("node")).samples("mpi.latency")}
    assert hosts == {("vc0", "vc2")}
    lab.cluster.start(dead)
    shown = lab.run("submit", suite, "--nodes", 2, "--dry-run").stdout
    assert f"#SBATCH --exclude={dead}" in shown
    assert until(lambda: lab.cluster.states()[dead] == "idle", 30)


def test_a_folder_that_nodes_do_not_see_is_told(lab: Lab, background: object) -> None:
    hidden = lab.folder / "hidden"
    hidden.mkdir()
    cluster = lab.cluster
    # the nodes get a folder of their own in its place; this machine, where the job is submitted from vc2, does not
    for host in ("vc0", "vc1"):
        assert cluster.run("mount", "-t", "tmpfs", "none", hidden, host=host).returncode == 0
    words = [
        *LABKIT,
        "submit",
        lab.suite("unseen"),
        "--into",
        hidden / "c",
        "--nodes",
        2,
        "--site",
        lab.site("vc[0-1]"),
    ]
    done = cluster.run(*words, host="vc2", timeout=60, **lab.environment)
    assert done.returncode == 1
    assert "hardly see that folder. Name one that all nodes share" in done.stderr


def test_a_job_whose_time_is_over_keeps_what_it_measured(
    lab: Lab, background: dict[str, "subprocess.Popen[str]"]
) -> None:
    _, err = background["limit"].communicate(timeout=110)
    assert background["limit"].returncode == 1
    assert "TIMEOUT" in err
    assert "Its time was over with" in err
    kept = len(list(lab.campaign("limit").glob("samples/*/*.parquet")))
    assert f"{kept} of " in err
    assert kept
    note = json.loads(next(lab.campaign("limit").glob("jobs/1-*.json")).read_text())
    assert "end" not in note
    assert note["allocation"]["hosts"] == ["vc3"]


def test_nothing_is_left_in_the_queue(lab: Lab) -> None:
    assert until(lambda: not lab.cluster.run("squeue", "-h").stdout.strip(), 10)
    assert sys.executable in LABKIT
    assert Path(LABKIT[0]).exists()
