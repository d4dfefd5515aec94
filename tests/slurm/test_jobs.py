"""Jobs of a real Slurm on four nodes: submitted, followed, ended in every way, and gone on with."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from labkit.apps import cli, jobs
from labkit.errors import LaunchError, SpecError
from labkit.point.notes import has
from labkit.read import records
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.suites import load
from labkit.testbeds.slurm import until
from tests.slurm.cluster import pid, states
from tests.slurm.conftest import Lab

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slurm, pytest.mark.netns]


def saved(job: jobs.Job) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in job.campaign.glob("samples/*/*.parquet")}


def followed(job: jobs.Job) -> str:
    return jobs.attach(job, lambda state: None, print)


@pytest.fixture(scope="module")
def submitted() -> Iterator[list[jobs.Job]]:
    """Jobs that go on over several tests; those that did not end are cancelled."""
    these: list[jobs.Job] = []
    yield these
    for job in these:
        if job.state().kind != "ended":
            jobs.cancel(job)


@pytest.fixture(scope="module")
def limit(lab: Lab, submitted: list[jobs.Job]) -> jobs.Job:
    """A job that reaches its time limit, a minute; it was stopped after its first points, to leave the cores to others."""
    long = lab.suite("limit", sizes="1:512Ki", cap=0.3, ci=1e-6, transports="shm")
    job = lab.submit(jobs.Request(suite=long, nodes=1, minutes=1), lab.site("vc3"))
    submitted.append(job)
    assert until(lambda: len(saved(job)) >= 2, 60), job.output()
    runs = json.loads((job.campaign / "lease.json").read_text())["pid"]
    for process in [psutil.Process(int(runs)), *psutil.Process(int(runs)).children(recursive=True)]:
        process.suspend()
    return job


@pytest.fixture(scope="module")
def array(lab: Lab, submitted: list[jobs.Job]) -> jobs.Job:
    """A job that runs twice on the first two nodes, 20 s apart, started by srun, while others are tested."""
    request = jobs.Request(suite=lab.suite("small"), nodes=2, array=2, spread="20s")
    job = lab.submit(request, lab.site("vc[0-1]", "srun"))
    submitted.append(job)
    return job


@pytest.fixture(scope="module")
def once(lab: Lab, submitted: list[jobs.Job]) -> jobs.Job:
    """A job of few points on the first two nodes."""
    suite = lab.suite("plain", sizes="8", launches=1)
    job = lab.submit(jobs.Request(suite=suite, nodes=2), lab.site("vc[0-1]", "srun"))
    submitted.append(job)
    return job


@pytest.fixture(scope="module")
def cut(lab: Lab, submitted: list[jobs.Job]) -> jobs.Job:
    """A job to be cancelled in the middle, on the third node."""
    slow = lab.suite("cut", sizes="64Ki,128Ki,256Ki,512Ki,1Mi", cap=3, ci=1e-6, transports="shm")
    job = lab.submit(jobs.Request(suite=slow, nodes=1), lab.site("vc2"))
    submitted.append(job)
    return job


# the interrupt may come while a question to Slurm is being started
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("limit", "array")  # they go on meanwhile
def test_a_cancelled_job_is_gone_on_with(lab: Lab, cut: jobs.Job, capfd: pytest.CaptureFixture[str]) -> None:
    job = cut
    assert until(lambda: len(saved(job)) >= 2, 60), job.output()
    interrupt = threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT))
    interrupt.start()
    status = cli.main(["attach", "cut"])
    interrupt.cancel()  # an attach that ended before must not end the tests
    assert status == 130, job.output()
    shown = capfd.readouterr().err
    assert f"labkit: job {job.number}: RUNNING on vc2" in shown
    assert f"job {job.number} continues. Follow it again: labkit attach" in shown
    assert cli.main(["status", "cut"]) == 0
    output = capfd.readouterr().out
    assert f"cut: slurm job {job.number}, RUNNING" in output
    assert f"job {job.number} on vc2: runs since" in output
    assert "did not finish" not in output
    assert cli.main(["cancel", "cut"]) == 0
    assert f"job {job.number}: CANCELLED" in capfd.readouterr().err
    before = saved(job)
    assert 2 <= len(before) < 12
    assert cli.main(["status", "cut"]) == 0
    output = capfd.readouterr().out
    assert "CANCELLED" in output
    assert "measured by" not in output
    assert cli.main(["attach", "cut"]) == 1
    assert f"It was cancelled with {len(before)} of 12 points × launches there" in capfd.readouterr().err
    assert cli.main(["cancel", "cut"]) == 1
    assert "already ended" in capfd.readouterr().err
    again = jobs.Request(suite=str(lab.folder / "cut.toml"), nodes=1, parameters=("time_cap=0.02",))
    text = followed(lab.submit(again, lab.site("vc2")))
    assert f"{12 - len(before)} points × launches measured, {len(before)} there already" in text
    assert f"job {job.number}: did not finish" in text
    after = saved(job)
    assert len(after) == 12
    assert before.items() <= after.items()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"partition": "nowhere"}, r"There is no partition 'nowhere'\. There are: batch, shut"),
        ({"nodes": 9}, r"--nodes 9, but partition batch has 4 nodes\. Set --nodes 4"),
        ({"minutes": 61}, r"--time 61, but partition batch has 60 minutes"),
        ({"ppn": 5}, r"--ppn 5, but partition batch has 4 cores on a node"),
        (
            {"constraint": "gpu"},
            r"sbatch refused: allocation failure: Invalid feature specification\nPartitions here: batch, shut",
        ),
        ({"parameters": ("launches=0",)}, "launches"),
    ],
)
def test_what_cannot_run_is_refused_before_it_is_submitted(lab: Lab, words: dict[str, Any], wanted: str) -> None:
    request = jobs.Request(suite=lab.suite("refused"), **words)
    with pytest.raises((LaunchError, SpecError), match=wanted):
        lab.submit(request, lab.site("vc[0-1]"))
    assert not (lab.campaigns / "refused").exists()


@pytest.mark.slow
def test_of_two_simultaneous_submissions_one_is_refused(lab: Lab) -> None:
    words = ["submit", lab.suite("twice"), "--partition", "shut", "--detach", "--site", str(lab.site("vc[0-1]"))]
    argv = [sys.executable, "-m", "labkit", *words]
    for attempt in range(2):
        started = [
            subprocess.Popen(
                [*argv, "--into", str(lab.campaigns / f"twice-{attempt}")], stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        said = [process.communicate(timeout=240)[1] for process in started]
        assert sorted(process.returncode for process in started) == [0, 1], said
        (job,) = jobs.jobs(lab.campaigns / f"twice-{attempt}")
        assert any(f"Job {job.number} for " in text for text in said), said
        jobs.cancel(job)


@pytest.mark.usefixtures("once")  # it goes on meanwhile
def test_a_job_that_waits_is_cancelled(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    request = jobs.Request(suite=lab.suite("waiting"), partition="shut")
    job = lab.submit(request, lab.site("vc[0-1]"))
    assert until(lambda: job.state().words == "PENDING (PartitionDown)", 20), job.state()
    with pytest.raises(LaunchError, match=f"Job {job.number} for .* is PENDING .*labkit attach"):
        lab.submit(request, lab.site("vc[0-1]"))
    assert cli.main(["status"]) == 0
    assert (
        f"waiting: slurm job {job.number}, PENDING (PartitionDown); 0 points × launches there" in capfd.readouterr().out
    )
    assert jobs.cancel(job).words.startswith("CANCELLED")
    with pytest.raises(LaunchError, match="ended before it started: CANCELLED"):
        followed(job)


def test_a_node_that_is_drained_is_waited_for(lab: Lab) -> None:
    def update(state: str) -> None:
        lab.cluster.run("scontrol", "update", "nodename=vc2", f"state={state}", "reason=test")

    update("drain")
    job = lab.submit(jobs.Request(suite=lab.suite("drained"), nodes=1), lab.site("vc2"))
    try:
        assert until(lambda: "PENDING (" in job.state().words, 20), job.state()
        assert job.state().kind == "pending"
    finally:
        jobs.cancel(job)
        update("resume")


@pytest.mark.slow
def test_an_array_repeats_in_allocations_of_their_own(array: jobs.Job) -> None:
    job = array
    assert "done:     1 of 1 notebook, 12 of 12 points × launches" in followed(job)
    points = list(Campaign(job.campaign).samples())
    table = records.table(points)
    assert sorted(table["allocation"].unique()) == [f"{job.number}_0", f"{job.number}_1"]
    assert set(table[table["launch"] < 2]["allocation"]) == {f"{job.number}_0"}
    first, second = (datetime.fromisoformat(text).timestamp() for text in sorted(set(table["session"])))
    assert min(first, job.submitted) + 20 <= second + 2  # Slurm counts whole seconds
    assert set(records.summary(table)["sessions"]) == {2}
    ranks = [one for one in points if one.spec.family == "mpi"]
    assert {tuple(one.meta["rank_hosts"]) for one in ranks} == {("vc0", "vc1")}
    assert all(one.meta["placement"]["span"] == "same leaf" for one in ranks)
    assert all(one.meta["allocation"]["leaves"] == {"vc0": "leaf0", "vc1": "leaf0"} for one in points)
    assert all(any(word.endswith("/srun") for word in one.meta["command"]) for one in ranks)
    assert all("--mpi=pmix" in one.meta["command"] for one in ranks)
    assert not any("leave none" in text for one in ranks for text in one.meta["warnings"])


def test_a_job_measures_what_a_plain_run_does(lab: Lab, once: jobs.Job, tmp_path: Path) -> None:
    assert until(lambda: once.state().kind == "ended", 240), once.output()
    study = load(lab.folder / "plain.toml").entries[0].study()
    measured = measuring.measure(study.specs(), study.effort, into=tmp_path / "plain")
    plain, job = (records.table(one.samples()) for one in (measured, Campaign(once.campaign)))
    what = ["benchmark", "message_size_B", "ranks", "options", "launch"]
    asked = [[name for name in table if not name.startswith("env_")] for table in (plain, job)]
    assert asked[0] == asked[1], "the site gives its jobs other variables"
    assert set(map(tuple, plain[what].values)) == set(map(tuple, job[what].values))
    assert (plain["allocation"] == "").all()
    for table in (plain, job):
        assert table[table["benchmark"] == "mpi.latency"]["verified"].all()
        assert (table["n"] > 0).all()
    between = job["benchmark"].str.startswith("mpi.")
    assert not set(job[between]["fingerprint"]) & set(plain["fingerprint"])  # over two hosts it is other work
    assert not any(has(badges, "shared-memory") for badges in job[between]["badges"])


@pytest.mark.slow
def test_a_node_that_dies_is_left_out_and_named(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    place = lab.site("vc[0-2]", setup=(f"kill -9 {pid(lab.cluster, 'vc1')}",))
    job = lab.submit(jobs.Request(suite=lab.suite("node"), nodes=3), place)
    text = followed(job)
    assert f"left out: node vc1: in job {job.number}, ranks and a trivial step both failed there: srun: error" in text
    points = list(Campaign(job.campaign).samples())
    assert len(points) == 6
    assert {tuple(one.meta["rank_hosts"]) for one in points if one.spec.family == "mpi"} == {("vc0", "vc2")}
    assert {one.meta["placement"]["span"] for one in points if one.spec.family == "mpi"} == {"across leaves"}
    lab.cluster.start("vc1")
    assert cli.main(["submit", str(lab.folder / "node.toml"), "--site", str(lab.site("vc0")), "--dry-run"]) == 0
    assert "#SBATCH --exclude=vc1\n" in capfd.readouterr().out
    assert until(lambda: states(lab.cluster)["vc1"] == "idle", 30)


@pytest.mark.slow
def test_a_folder_that_nodes_do_not_see_is_told(lab: Lab) -> None:
    hidden = lab.folder / "hidden"
    hidden.mkdir()
    for host in ("vc1", "vc2"):  # they get a folder of their own in its place
        assert lab.cluster.run("mount", "-t", "tmpfs", "none", hidden, host=host).returncode == 0
    request = jobs.Request(suite=lab.suite("unseen"))
    with pytest.raises(LaunchError, match=r"probably do not see that folder\. Use a folder that all nodes share"):
        followed(jobs.submit(request, lab.site("vc[1-2]"), hidden / "c", print))


@pytest.mark.slow  # Slurm counts in minutes
def test_a_job_whose_time_is_over_keeps_what_it_measured(limit: jobs.Job) -> None:
    job = limit
    with pytest.raises(LaunchError, match="TIMEOUT") as caught:
        followed(job)
    kept = len(saved(job))
    assert kept >= 2
    assert f"It reached its time limit with {kept} of 42 points × launches there; these are kept. Submit again" in str(
        caught.value
    )
    note = json.loads(next(job.campaign.glob("jobs/1-*.json")).read_text())
    assert "end" not in note
    assert note["allocation"]["hosts"] == ["vc3"]


@pytest.mark.slow
def test_independent_points_run_side_by_side_on_disjoint_nodes(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    suite, site = lab.suite("beside", sizes="8", transports="auto,tcp"), str(lab.site("vc[0-3]"))
    assert cli.main(["submit", suite, "--nodes", "4", "--side-by-side", "--site", site]) == 0
    said = capfd.readouterr()
    assert "1 of 1 notebook" in said.out + said.err
    points = [one for one in Campaign(lab.campaigns / "beside").samples() if one.spec.family == "mpi"]
    assert {tuple(one.meta["rank_hosts"]) for one in points} == {("vc0", "vc1"), ("vc2", "vc3")}
    assert all("side by side" in one.meta["badges"] for one in points)


MODULES = Path("/etc/profile.d/modules.sh")


@pytest.mark.slow
@pytest.mark.skipif(not MODULES.exists(), reason="needs the package environment-modules")
def test_a_job_measures_with_the_mpi_of_its_module(lab: Lab) -> None:
    site = lab.folder / "site-software"
    (site / "mpi" / "bin").mkdir(parents=True)
    # MPICH where it is installed beside Open MPI, which would be taken otherwise; else Open MPI by another path
    mpich = bool(shutil.which("hydra_pmi_proxy"))
    names = (
        {"mpiexec": "mpiexec.hydra", "hydra_pmi_proxy": "hydra_pmi_proxy"} if mpich else {"mpirun": "mpirun.openmpi"}
    )
    for name, program in names.items():
        (site / "mpi" / "bin" / name).symlink_to(str(shutil.which(program)))
    (site / "files").mkdir()
    (site / "files" / "labmpi").write_text(f"#%Module1.0\nprepend-path PATH {site}/mpi/bin\n")
    setup = (f"source {MODULES}", f"module use {site}/files")
    suite = lab.suite("module", sizes="8")
    once = jobs.Request(suite=suite, parameters=("launches=1",))
    job = lab.submit(once, lab.site("vc[0-1]", setup=setup, modules=("labmpi",)))
    assert "1 of 1 notebook" in followed(job)
    points = [one for one in Campaign(job.campaign).samples() if one.spec.family == "mpi"]
    assert all(f"{site}/mpi/bin/{next(iter(names))}" in one.meta["command"] for one in points)
    assert not list(Path.cwd().glob("ConnectTimeout*")), "options of ssh that srun took for its own"
    kinds = {row["library"].partition(" ")[0] for row in records.table(points).to_dict("records")}
    assert kinds == {"MPICH" if mpich else "Open"}
    job = lab.submit(jobs.Request(suite=suite, nodes=1), lab.site("vc0", setup=setup, modules=("labmpi/9",)))
    with pytest.raises(LaunchError, match=r"ended before labkit started.*(?s:.*)Unable to locate a modulefile"):
        followed(job)


@pytest.mark.slow
def test_a_suite_sweeps_places_in_the_tree(lab: Lab) -> None:
    suite = Path(lab.suite("places", sizes="8"))
    suite.write_text(suite.read_text() + '[[sweep]]\nsetting = {hosts = ["same-leaf", "across-leaves"]}\n')
    job = lab.submit(jobs.Request(suite=str(suite), nodes=4, parameters=("launches=1",)), lab.site("vc[0-3]"))
    assert "2 of 2 notebooks" in followed(job)
    points = [one for one in Campaign(job.campaign).samples() if one.spec.family == "mpi"]
    places = {(one.spec.hosts[0], tuple(one.meta["rank_hosts"]), one.meta["placement"]["span"]) for one in points}
    assert places == {
        ("same-leaf", ("vc0", "vc1"), "same leaf"),
        ("across-leaves", ("vc0", "vc2"), "across leaves"),
    }
