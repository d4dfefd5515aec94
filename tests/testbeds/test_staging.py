"""Ranks on the hosts of a virtual cluster load from a copy, which all hosts there share."""

from pathlib import Path

import pytest

from labkit.host import filesystems
from labkit.point.spec import Effort, Spec
from labkit.run import measuring
from labkit.run.staging import archive

pytestmark = [pytest.mark.mpi, pytest.mark.netns]


@pytest.mark.slow
def test_ranks_of_two_virtual_hosts_load_from_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystems.SWITCH, "yes")
    monkeypatch.setenv(archive.PLACE, str(tmp_path))
    archive.made.cache_clear()
    spec = Spec(benchmark="mpi.latency", testbed="virtual-cluster:2")
    (one,) = measuring.measure(spec, Effort(iterations=20, launches=1), into=tmp_path / "c").samples()
    archive.made.cache_clear()
    assert one.meta["rank_hosts"] == ["vc0", "vc1"]
    assert one.meta["staged"][0].startswith(f"{tmp_path}/labkit-staged-")
    assert "removed the copies on 1 host" in (tmp_path / "c" / "log.txt").read_text()
    assert not list(tmp_path.glob("labkit-staged-*"))
