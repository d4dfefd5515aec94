"""Servers of tools in a job of a real Slurm: on another host than their client, and gone with the job."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from labkit.kernels import programs
from labkit.read import records
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.testbeds.slurm import until
from labkit.tools import _kv, microservices
from tests.slurm.conftest import Lab

pytestmark = [pytest.mark.slurm, pytest.mark.netns, pytest.mark.slow]
PROGRAMS = ("rpc_grpc", "kv_client", "microservices", "redis-server", "memcached")
CASES = {
    "rpc.latency": ["-m", "1Ki"],
    "rpc.parameter_server": ["-o", "servers=2"],
    "kv.closed_loop": ["-o", "store=redis"],
    "kv.open_loop": ["-o", "store=memcached", "-o", "rate=300"],
    "services.hdsearch": ["-o", "leaves=3"],
    "services.router": ["-o", "leaf=memcached", "-o", "leaves=2"],
    "sockets.tcp_rr": ["-m", "64", "--hosts", "vc1,vc2"],
    "sockets.udp_stream": ["-m", "1000", "-o", "multicast=true", "-o", "offered=1", "--hosts", "vc1,vc2"],
}


def built(name: str) -> None:
    """Skip where a program was not built, or a store is not installed."""
    family = name.partition(".")[0]
    if family == "rpc" and not programs.path("rpc_grpc").exists():
        pytest.skip("rpc_grpc is not built")
    if family == "kv" and (_kv.program() == _kv.ABSENT or not shutil.which("redis-server")):
        pytest.skip("kv_client or redis is missing")
    if family == "services" and microservices.program() == microservices.ABSENT:
        pytest.skip(microservices.ABSENT)
    if ("memcached" in " ".join(CASES[name])) and not shutil.which("memcached"):
        pytest.skip("memcached is missing")


def submitted(lab: Lab, folder: Path, nodes: str, *words: str, after: str = "") -> str:
    """The number of a job that measures on these nodes, and then runs another command."""
    command = " ".join([sys.executable, "-m", "labkit", "measure", *words, "--into", str(folder), "--launches", "1"])
    script = folder.parent / f"{folder.name}.sh"
    script.write_text(f"#!/bin/sh\n{command}\n{after}\n")
    asked = ["sbatch", "--parsable", f"--nodelist={nodes}", f"--output={script}.out", "--time=5", str(script)]
    done = lab.cluster.run(*asked)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def state(lab: Lab, number: str) -> str:
    return lab.cluster.run("squeue", "-h", "-j", number, "-o", "%T").stdout.strip()


def running(folder: Path) -> list[str]:
    """Programs of a job: those that work below its folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(folder) in process.cwd() and any(name in " ".join(process.cmdline()) for name in PROGRAMS):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def points(folder: Path) -> Sequence[Samples]:
    return list(Campaign(folder).samples())


@pytest.mark.parametrize("name", CASES)
def test_the_server_is_on_another_host_than_the_client(lab: Lab, tmp_path: Path, name: str) -> None:
    built(name)
    folder = tmp_path / "campaign"
    number = submitted(lab, folder, "vc[1-3]", name, *CASES[name], "--time-cap", "0.3")
    output = Path(f"{tmp_path}/campaign.sh.out")
    assert until(lambda: not state(lab, number), 120), output.read_text()
    assert folder.is_dir(), output.read_text()
    [one] = points(folder)
    assert "loopback" not in one.meta["badges"]
    assert one.meta["address"].startswith("10.")
    commands = [" ".join(words) for words in one.meta["commands"]]
    if name.startswith("services."):
        assert "--nodelist=vc3" in commands[0]
    assert "--nodelist=vc2" in commands[0]
    assert "srun" not in commands[-1]
    assert one.meta["allocation"]["hosts"] == ["vc1", "vc2", "vc3"]
    assert one.meta["placement"]["hosts"] == (["vc1", "vc2", "vc3"] if name.startswith("services.") else ["vc1", "vc2"])
    assert records.table([one])["n"].iloc[0] > 0 or one.reported
    assert not running(tmp_path)
    assert not list(folder.glob("labkit-run-*"))


@pytest.mark.mpi
def test_two_jobs_share_the_hosts_of_a_job_with_one_processor_each(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    words = ["-m", "1000", "-i", "10", "-x", "2", "-o", "lead=1", "-o", "aggressor=halo3d26", "--ranks", "3"]
    number = submitted(lab, folder, "vc[1-3]", "congestion.interference", *words, "--time-limit", "60")
    output = Path(f"{tmp_path}/campaign.sh.out")
    assert until(lambda: not state(lab, number), 200), output.read_text()
    assert folder.is_dir(), output.read_text()
    [one] = points(folder)
    assert one.n == 10


def test_several_hosts_of_a_job_send_to_its_last_one(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    words = ["-m", "64Ki", "-o", "senders=2", "-o", "duration=1"]
    number = submitted(lab, folder, "vc[1-3]", "congestion.incast", *words)
    output = Path(f"{tmp_path}/campaign.sh.out")
    assert until(lambda: not state(lab, number), 120), output.read_text()
    [one] = points(folder)
    servers, clients = [" ".join(words) for words in one.meta["commands"][:2]], one.meta["commands"][2:]
    assert all("--nodelist=vc3" in server for server in servers)
    assert ["--nodelist=vc2" in " ".join(client) for client in clients] == [False, True], "the first sender is here"
    assert one.meta["placement"]["hosts"] == ["vc1", "vc2", "vc3"]
    assert "loopback" not in one.meta["badges"]
    assert not running(tmp_path)


def test_a_cancelled_job_leaves_no_server(lab: Lab, tmp_path: Path) -> None:
    built("services.hdsearch")
    folder = tmp_path / "campaign"
    number = submitted(lab, folder, "vc[1-2]", "services.hdsearch", "-o", "leaves=2", "--time-cap", "60")

    def started(part: str) -> int:  # not the supervisors and steps that start it
        return sum(words.partition(" ")[0].endswith("microservices") and part in words for words in running(tmp_path))

    assert until(lambda: started(" load ") == 1, 60), running(tmp_path)
    assert started(" serve ") == 3
    assert lab.cluster.run("scancel", number).returncode == 0
    assert until(lambda: not running(tmp_path), 30), running(tmp_path)
    assert until(lambda: not state(lab, number), 30)


def test_servers_end_with_labkit_even_if_it_is_killed_and_the_job_goes_on(lab: Lab, tmp_path: Path) -> None:
    built("kv.closed_loop")
    folder = tmp_path / "campaign"
    number = submitted(lab, folder, "vc[1-2]", "kv.closed_loop", "--time-cap", "60", after="sleep 120")
    assert until(lambda: any("kv_client" in words for words in running(tmp_path)), 60), running(tmp_path)
    [owner] = [one for one in psutil.process_iter() if "labkit" in _words(one) and str(folder) in _words(one)]
    owner.kill()
    assert until(lambda: not running(tmp_path), 30), running(tmp_path)
    assert state(lab, number) == "RUNNING"
    lab.cluster.run("scancel", number)
    assert until(lambda: not state(lab, number), 30)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
