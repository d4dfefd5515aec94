"""One Slurm for all tests of a session, and the folder that its nodes share."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster, slurm

LABKIT = [sys.executable, "-m", "labkit.cli"]
# ranks of several nodes share this machine's cores here: they yield, and are not bound
SITE = """launcher = "{launcher}"
options = ["--nodelist={nodes}"]
environment = {{ OMPI_MCA_mpi_yield_when_idle = "1", OMPI_MCA_hwloc_base_binding_policy = "none" }}
"""
SUITE = """title = "{name}"
[parameters]
launches = 2
time_cap = {cap}
ci = {ci}
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "{sizes}"
allreduce = ""
transports = "{transports}"
"""


class Lab:
    """labkit on the nodes of a cluster, with campaigns and suites in one folder."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.folder = cluster, cluster.folder / "lab"
        self.folder.mkdir()
        self.environment = {
            "LABKIT_CAMPAIGNS": str(self.folder / "campaigns"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def suite(
        self, name: str, *, sizes: str = "8,1Ki", cap: float = 0.02, ci: float = 0.02, transports: str = "auto"
    ) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(SUITE.format(name=name, sizes=sizes, cap=cap, ci=ci, transports=transports))
        return path

    def site(self, nodes: str, launcher: str = "mpirun") -> Path:
        path = self.folder / f"{nodes.strip('[]').replace(',', '_')}-{launcher}.toml"
        path.write_text(SITE.format(nodes=nodes, launcher=launcher))
        return path

    def campaign(self, name: str) -> Path:
        return self.folder / "campaigns" / name

    def run(self, *words: object, timeout: float = 100) -> subprocess.CompletedProcess[str]:
        return self.cluster.run(*LABKIT, *words, timeout=timeout, **self.environment)

    def start(self, *words: object) -> "subprocess.Popen[str]":
        argv = self.cluster.testbed.on("vc0", [*LABKIT, *map(str, words)])
        return subprocess.Popen(
            argv,
            env=self.cluster.environment | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if os.geteuid():
        pytest.skip("slurm: its daemons want to be root")
    with slurm(tmp_path_factory.mktemp("slurm")) as cluster:
        yield Lab(cluster)
