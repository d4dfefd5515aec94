"""labkit fieldkit in a job of a real Slurm: ranks, iperf3 and counters on both hosts, and nothing but the archive."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile

import pytest

from labkit.store import archive
from labkit.store.campaign import Campaign
from tests.slurm.conftest import Lab

pytestmark = [pytest.mark.slurm, pytest.mark.netns, pytest.mark.slow]


def test_a_field_kit_uses_the_hosts_of_its_job(lab: Lab) -> None:
    output = lab.folder / "kit"
    words = ["-m", "labkit", "fieldkit", "--minutes", "1", "--output", output]
    yields = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    done = lab.cluster.run("salloc", "-N", "2", sys.executable, *words, timeout=400, **yields)
    assert done.returncode == 0, done.stderr
    (made,) = output.iterdir()
    with zipfile.ZipFile(made) as file:
        assert set(json.loads(file.read("fieldkit/counters.json"))["hosts"]) == {"vc0", "vc1"}
    with archive.opened(made) as folder:
        points = list(Campaign.existing(folder).samples())
    hosts = {one.spec.benchmark: one.meta.get("rank_hosts") for one in points if one.spec.family == "mpi"}
    assert hosts["mpi.latency"] == ["vc0", "vc1"]
    if shutil.which("iperf3"):
        (stream,) = [one for one in points if one.spec.benchmark == "sockets.tcp_stream" and one.launch == 0]
        assert any("srun" in words for words in stream.meta["commands"])
