"""Sixteen hosts on this machine, and more ranks than it has cores: a campaign whole, killed and resumed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.apps import jobs
from labkit.judge import slow_rank
from labkit.store import events
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.testbeds import slurm
from tests.slurm.conftest import Lab
from tests.waiting import until

HOSTS, RANKS = 16, 80
# Linux divides processors evenly between sessions (kernel.sched_autogroup_enabled), and each step of Slurm is one: with
# five busy ranks in each of 16, those that others wait for get hardly any time, and none connects for minutes.
RANKS_OF_STEPS = 48
# shared cores: ranks that wait for one another need long
MEASURE = [
    *(sys.executable, "-m", "labkit", "measure", "mpi.allreduce", "-m", "8,64,512", "-i", "5", "-x", "1"),
    *("--launches", "2", "--ranks", str(RANKS), "--testbed", f"virtual-cluster:{HOSTS}", "--time-limit", "300"),
]
SUITE = """title = "sixteen"
[parameters]
launches = 2
time_cap = 0.05
[[notebook]]
name = "30-collectives"
[notebook.parameters]
collectives = "allreduce,barrier"
sizes = "8,64"
ranks = "{ranks}"
cadences = ""
in_place = false
rotate = false
transports = "tcp"
"""


def saved(campaign: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in campaign.glob("samples/*/[!.]*.parquet")}


def acknowledged(campaign: Path) -> set[str]:
    entries = events.read(campaign) if (campaign / events.NAME).exists() else []
    return {event["file"] for event in entries if event.kind == "saved"}


def check(points: list[Samples], ranks: int) -> None:
    """Every rank was timed, on all hosts in turn; the numbers carry their badge."""
    for point in points:
        assert len(point.meta["rank_hosts"]) == ranks
        if ranks > 64:  # more than that are sampled
            assert point.over is not None
            assert len(point.over.ranks) == ranks
            assert len(point.ranks) < ranks
        assert len(set(point.meta["rank_hosts"])) == HOSTS
        assert "oversubscription" in point.meta["badges"]
        assert point.meta["verified"] or point.spec.benchmark == "mpi.barrier"
        assert slow_rank.slow_ranks(point).iterations == point.n


@pytest.mark.slow
@pytest.mark.netns
def test_a_campaign_of_80_ranks_on_16_hosts_is_killed_and_goes_on(tmp_path: Path) -> None:
    into = tmp_path / "c"
    command = [*MEASURE, "--into", str(into)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: acknowledged(into), 300, runs=process)
        process.kill()
        assert process.stderr is not None
        said = process.stderr.read()
    before = {name: (into / name).stat().st_mtime_ns for name in acknowledged(into)}
    assert 1 <= len(before) < 6, said[-2000:]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert {name: (into / name).stat().st_mtime_ns for name in before} == before
    points = list(Campaign(into).samples())
    assert len(points) == 6
    check(points, RANKS)


@pytest.fixture
def sixteen(tmp_path: Path, campaigns: Path) -> Iterator[Lab]:
    with slurm.cluster(tmp_path, HOSTS) as cluster, pytest.MonkeyPatch.context() as patch:
        lab = Lab(cluster, campaigns)
        patch.setenv(
            "PATH", os.pathsep.join([str(Path(sys.executable).parent), str(cluster.folder / "bin"), slurm.path()])
        )
        patch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
        patch.setenv("BROWSER_PATH", "/nowhere")
        yield lab


@pytest.mark.slow
@pytest.mark.slurm
def test_a_job_on_16_nodes_of_slurm_is_cancelled_and_goes_on(sixteen: Lab) -> None:
    suite = sixteen.folder / "sixteen.toml"
    suite.write_text(SUITE.format(ranks=RANKS_OF_STEPS))
    request = jobs.Request(suite=str(suite), nodes=HOSTS)
    first = sixteen.submit(request, sixteen.site(f"vc[0-{HOSTS - 1}]"))
    until(lambda: acknowledged(first.campaign) or first.state().kind == "ended", 600, each=0.5)
    jobs.cancel(first)
    names = acknowledged(first.campaign)
    assert names, first.output()
    before = {name: (first.campaign / name).stat().st_mtime_ns for name in names}
    second = sixteen.submit(request, sixteen.site(f"vc[0-{HOSTS - 1}]"))
    assert "1 of 1 notebook" in jobs.attach(second, lambda state: None, print)
    assert {name: (first.campaign / name).stat().st_mtime_ns for name in names} == before
    points = list(Campaign(first.campaign).samples())
    assert {point.spec.size for point in points if point.spec.benchmark == "mpi.allreduce"} == {8, 64}
    check(points, RANKS_OF_STEPS)
