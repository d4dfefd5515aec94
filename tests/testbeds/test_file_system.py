"""File systems on loop devices: what is refused, what is missing, mounted and unmounted for real where that is allowed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import labkit
from labkit import studies, testbeds
from labkit.errors import LaunchError, SpecError
from labkit.io.mounts import mount_of, mounts
from labkit.point.notes import texts
from labkit.point.spec import Effort, Spec, sweep
from labkit.store.samples.facts import FILESYSTEM
from labkit.testbeds import file_system

REAL = ("ext4", "xfs", "btrfs", "tmpfs", "fuse2fs")
MOUNTED = {"fuse2fs": "fuse.ext4"}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of file systems in a folder that no other run clears; what is missing is found out anew."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file_system.lacks.cache_clear()


def possible(kind: str) -> str:
    """The description of a small one; skip, naming what is missing, where it cannot be mounted."""
    if why := file_system.lacks(kind):
        pytest.skip(f"{kind}: {why}")
    return f"file-system:{kind},size=300Mi"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("file-system", "There is no file system ''"),
        ("file-system:ext5", "There is no file system 'ext5'"),
        ("file-system:ext4,speed=1Gi", "no option of file-system 'speed'"),
        ("file-system:ext4,size=1Mi", "size=1Mi, but a file system needs 300 MiB or more"),
        ("file-system:ext4,source=a:/b", "Set no source"),
        ("file-system:nfs", "Set file-system:nfs,source=SERVER:/EXPORT"),
        ("file-system:nfs,size=1Gi,source=a:/b", "Leave size out"),
    ],
)
def test_what_cannot_be_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        testbeds.outline(text)


def test_a_missing_tool_or_right_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_system, "_command", lambda name: "")
    assert file_system.lacks("xfs") == "it needs mkfs.xfs. Install with 'sudo apt-get install xfsprogs'."
    assert "mkfs.ext4, fuse2fs. Install with 'sudo apt-get install e2fsprogs fuse2fs'." in file_system.lacks("fuse2fs")
    assert testbeds.lacks("file-system:nfs,source=a:/b").endswith("apt-get install nfs-common'.")
    assert testbeds.lacks("local") == ""
    file_system.lacks.cache_clear()
    monkeypatch.setattr(file_system, "_command", lambda name: f"/sbin/{name}")
    monkeypatch.setattr(file_system, "_capable", lambda: False)
    assert file_system.lacks("ext4") == "mounting needs root. Run labkit as root."
    file_system.lacks.cache_clear()
    monkeypatch.setattr(file_system, "_capable", lambda: True)
    monkeypatch.setattr(file_system, "_known", lambda: {"tmpfs"})
    monkeypatch.setattr(file_system, "_loadable", lambda driver: False)
    assert file_system.lacks("nfs").startswith("this kernel has no nfs")
    assert file_system.lacks("tmpfs") == ""
    with pytest.raises(LaunchError, match="file-system:ext4 cannot be mounted here: this kernel has no ext4"):
        testbeds.open("file-system:ext4").__enter__()


def test_a_study_leaves_out_what_cannot_be_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_system, "lacks", lambda kind: "" if kind == "tmpfs" else "mounting needs root.")
    study = studies.get("file_systems")(systems="xfs,tmpfs", io500=0.0, items=0, sizes="4Ki")
    assert study.lacking == ["left out file-system:xfs,size=1Gi: mounting needs root."]
    assert {spec.testbed for spec in study._requested()} == {"file-system:tmpfs,size=1Gi"}


@pytest.mark.parametrize("kind", REAL)
def test_it_is_mounted_for_the_run_alone(kind: str, tmp_path: Path) -> None:
    text = possible(kind)
    with testbeds.open(text) as made:
        point = Path(made.directory)
        assert mount_of(point).kind == MOUNTED.get(kind, kind)
        (point / "file").write_text("x")
        assert made.facts["kind"] == kind
        assert texts(made.badges) == (() if kind == "tmpfs" else ("loop device",))
    assert not list(tmp_path.iterdir())
    assert not any(one.point.startswith(str(tmp_path)) for one in mounts())


def test_what_a_killed_process_left_mounted_is_cleared(tmp_path: Path) -> None:
    text = possible("tmpfs")
    program = f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
    program += f"from labkit import testbeds\nwith testbeds.open({text!r}): print('up', flush=True); input()\n"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as lab:
        assert lab.stdout is not None
        assert lab.stdout.readline() == b"up\n"
        (left,) = tmp_path.iterdir()
        os.kill(lab.pid, signal.SIGKILL)
    until = time.monotonic() + 60
    while left.exists() and time.monotonic() < until:  # its lock goes with the process
        with testbeds.open(text):
            pass
    assert not left.exists()
    assert not any(one.point.startswith(str(left)) for one in mounts())


@pytest.mark.mpi
def test_ranks_and_tools_work_on_it(tmp_path: Path) -> None:
    kinds = [possible(kind) for kind in REAL if not file_system.lacks(kind)][:2]
    if not kinds:
        pytest.skip("nothing can be mounted here")
    specs = sweep("storage.metadata", sizes=[0], ranks=2, items=5, testbed=kinds)
    specs += sweep("storage.write", sizes=4096, ranks=1, file_size="64Ki", testbed=kinds)
    campaign = labkit.measure(specs, Effort(launches=1, iterations=3), into=tmp_path / "c")
    found = {(one.spec.benchmark, one.spec.testbed): FILESYSTEM.of(one.meta) for one in campaign.samples()}
    names = {text: text.split(":")[1].split(",")[0] for text in kinds}
    assert found == {(spec.benchmark, spec.testbed): names[spec.testbed] for spec in specs}
    elsewhere = Spec(benchmark="storage.metadata", testbed=kinds[0], options={"directory": str(tmp_path)})
    with pytest.raises(SpecError, match=r"has a separate folder\. Leave directory out"):
        labkit.measure([elsewhere], into=tmp_path / "d")
