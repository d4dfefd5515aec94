"""The testbed slurm: up for a user's own commands, a job through labkit submit, and nothing left after down."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from labkit import testbeds
from labkit.apps import cli
from labkit.errors import SpecError
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.point.notes import has
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import badges
from labkit.testbeds import slurm, virtual_cluster

SUITE = """title = "Tried"
[parameters]
launches = 1
time_cap = 0.02
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "8"
allreduce = ""
transports = "auto"
"""


def variables(text: str) -> dict[str, str]:
    """The environment of a shell that has run the lines that labkit printed."""
    done = subprocess.run(["sh", "-ec", f"{text}\nenv -0"], capture_output=True, text=True, check=True)
    return dict(pair.split("=", 1) for pair in done.stdout.split("\0") if "=" in pair)


def processes(folder: str) -> list[str]:
    """Command lines and variables of processes that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if folder.encode() in (path / "environ").read_bytes() + (path / "cmdline").read_bytes():
                found.append(f"{path.name} {(path / 'cmdline').read_text()}")
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str]) -> Iterator[Mapping[str, str]]:
    try:
        assert cli.main(["testbed", "up", "slurm:3"]) == 0
        yield variables(capfd.readouterr().out)
    finally:
        for kept in testbeds.up():
            if kept.text == "slurm:3":
                testbeds.take_down(kept)


@pytest.mark.slow
@pytest.mark.slurm
@pytest.mark.netns
def test_a_job_runs_on_it_and_nothing_is_left(shell: Mapping[str, str], tmp_path: Path, campaigns: Path) -> None:
    folder = str(Path(shell["SLURM_CONF"]).parent)
    nodes = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], env=shell, capture_output=True, text=True, check=True)
    assert {"vc0 idle", "vc1 idle", "vc2 idle"} <= {*nodes.stdout.splitlines()}
    suite = tmp_path / "tried.toml"
    suite.write_text(SUITE)
    words = ["submit", str(suite), "--nodes", "2", "--into", str(campaigns / "tried")]
    environment = {**shell, "LABKIT_CAMPAIGNS": str(campaigns), "BROWSER_PATH": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-m", "labkit", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    points = [one for one in Campaign(campaigns / "tried").samples() if one.spec.family == "mpi"]
    assert {tuple(one.meta["rank_hosts"]) for one in points} == {("vc0", "vc1")}
    assert all(has(badges(one.meta), "emulated-link") for one in points)
    assert {one.meta["testbed"]["rate_bps"] for one in points} == {1e9}
    assert all((wire := bounds.path(one, Stated())) and wire.name == "link of a host" for one in points)
    assert not any(nic["speed_Mbps"] for one in points for nic in one.host["nics"]), "those of veth mean nothing"
    assert cli.main(["testbed", "down", "slurm:3"]) == 0
    assert not Path(folder).exists()
    assert processes(folder) == []


@pytest.mark.parametrize(
    ("user", "missing", "said"),
    [
        (1000, [], "cannot be started by this user: Slurm's daemons start jobs of other users, so they need root"),
        (0, ["slurmctld"], "needs packages that are not installed. Run: apt-get install slurmctld"),
    ],
)
def test_it_names_what_it_needs(user: int, missing: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(slurm, "absent", lambda: missing)
    with pytest.raises(SpecError, match=said), slurm.open("", {}):
        pass


def test_it_takes_a_number_of_nodes_only() -> None:
    assert slurm.outline("3", {}).hosts == ("vc0", "vc1", "vc2")
    assert slurm.outline("", {}).hosts == virtual_cluster.outline("4", {}).hosts
    assert slurm.outline("2", {}).name == "slurm:2"
    with pytest.MonkeyPatch.context() as patch:
        assert testbeds.outline("local").facts == {}
        patch.setenv("LABKIT_EMULATED", "slurm:3")  # in a job on it
        assert testbeds.outline("local").facts == slurm.outline("3", {}).facts
        with testbeds.open("local") as here:
            assert here.facts["rate_bps"] == 1e9
    with pytest.raises(SpecError, match=r"there is no option rate\. It takes a number of nodes: slurm:4"):
        slurm.outline("", {"rate": "1gbit"})
    assert slurm.topology(3).splitlines() == [
        "SwitchName=leaf0 Nodes=vc[0-1]",
        "SwitchName=leaf1 Nodes=vc[2-2]",
        "SwitchName=spine Switches=leaf[0-1]",
    ]


def test_a_folder_of_the_path_that_cannot_be_looked_into_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "labkit-site.toml").touch()
    odd = f"/{'x' * 300}/bin"
    monkeypatch.setenv("PATH", f"{odd}:{tmp_path}/bin:/usr/bin")
    assert slurm.path() == f"{odd}:/usr/bin:/usr/sbin:/sbin", "programs that act on another Slurm are left out"
