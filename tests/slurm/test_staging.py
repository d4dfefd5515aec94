"""Starts from copies in a job of a real Slurm: sbcast takes the archive to the nodes, srun one task to each of them."""

import os
from pathlib import Path

import pytest

from labkit.apps import jobs
from labkit.host import filesystems
from labkit.run.staging import archive
from labkit.store.campaign import Campaign
from tests.slurm.conftest import Lab

pytestmark = [pytest.mark.slurm, pytest.mark.netns, pytest.mark.slow]


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_a_job_starts_ranks_from_copies(lab: Lab, tmp_path: Path, launcher: str) -> None:
    site = lab.site("vc[0-1]", launcher)
    variables = f'{filesystems.SWITCH} = "yes", {archive.PLACE} = "{tmp_path}", XDG_CACHE_HOME = "{tmp_path}/cache"'
    site.write_text(site.read_text().replace("environment = {", f"environment = {{ {variables},"))
    job = lab.submit(jobs.Request(suite=lab.suite(f"staged-{launcher}", sizes="8")), site)
    assert "done:" in jobs.attach(job, lambda state: None, print), job.output()
    samples = [one for one in Campaign(job.campaign).samples() if one.spec.family == "mpi"]
    assert {tuple(one.meta["rank_hosts"]) for one in samples} == {("vc0", "vc1")}
    assert all(one.meta["staged"][0].startswith(f"{tmp_path}/labkit-staged-{os.geteuid()}/") for one in samples)
    log = (job.campaign / "log.txt").read_text()
    assert f" MiB by sbcast to {tmp_path}" in log
    assert "on 2 hosts in" in log
    assert "removed the copies on 2 hosts" in log
    assert "sbcast did not" not in log
    assert "no task could" not in log
    assert not list(tmp_path.glob("labkit-staged-*"))
    assert not list(Path("/tmp").glob(f"labkit-staged-{os.geteuid()}-*.tar"))
