"""One Slurm for all tests of a session; its programs on PATH act on the first node."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.apps import jobs
from labkit.testbeds.slurm import Cluster, cluster, path

# ranks of several nodes share this machine's cores here: they yield, and are not bound
SITE = """launcher = "{launcher}"
options = ["--nodelist={nodes}"]
setup = {setup}
modules = {modules}
environment = {{ OMPI_MCA_mpi_yield_when_idle = "1", OMPI_MCA_hwloc_base_binding_policy = "none" }}
"""
SUITE = """title = "{name}"
[parameters]
launches = {launches}
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
    """Suites, sites and campaigns on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, campaigns: Path) -> None:
        self.cluster, self.folder, self.campaigns = cluster, cluster.folder / "lab", campaigns
        self.folder.mkdir()

    def suite(
        self,
        name: str,
        *,
        sizes: str = "8,1Ki",
        cap: float = 0.02,
        ci: float = 0.02,
        transports: str = "auto",
        launches: int = 2,
    ) -> str:
        path = self.folder / f"{name}.toml"
        path.write_text(SUITE.format(name=name, sizes=sizes, cap=cap, ci=ci, transports=transports, launches=launches))
        return str(path)

    def site(
        self, nodes: str, launcher: str = "mpirun", setup: tuple[str, ...] = (), modules: tuple[str, ...] = ()
    ) -> Path:
        path = self.folder / f"site-{len(list(self.folder.glob('site-*')))}.toml"
        path.write_text(SITE.format(nodes=nodes, launcher=launcher, setup=list(setup), modules=list(modules)))
        return path

    def submit(self, request: jobs.Request, site: Path) -> jobs.Job:
        return jobs.submit(request, site, jobs.folder(request.suite, None, jobs.Site()), print)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, campaigns: Path) -> Iterator[Lab]:
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield Lab(made, campaigns)


@pytest.fixture(scope="module", autouse=True)
def _on_the_first_node(lab: Lab) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "PATH", os.pathsep.join([str(Path(sys.executable).parent), str(lab.cluster.folder / "bin"), path()])
        )
        patch.setenv("SLURM_CONF", str(lab.cluster.folder / "slurm.conf"))
        patch.setenv("BROWSER_PATH", "/nowhere")  # static figures are not what is tested here
        yield
