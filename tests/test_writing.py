"""Outputs: files appear whole, links stay links, devices stay devices, what cannot be written is named."""

from __future__ import annotations

import io
import os
import re
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from labkit.apps.cli import main
from labkit.errors import DataError
from labkit.io import atomic
from labkit.store import archive

from . import made
from .test_store import filled

EXAMPLE = "data/campaigns/examples/two-cores"


def device(path: Path, minor: int) -> Path:
    """A node of our own like /dev/null (3) or /dev/full (7), so that the machine's own is never at risk."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.write_bytes(b"")
    except OSError:
        pytest.skip("no device node can be made here: not root, or the file system forbids it")
    return path


def drained(fifo: Path) -> tuple[threading.Thread, list[bytes]]:
    """A reader of a pipe."""
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    reader.start()
    return reader, received


def test_a_regular_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("before")
    with pytest.raises(TypeError), atomic.opened(target) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert target.read_text() == "before"
    atomic.text(target, "µ")
    assert target.read_bytes() == "µ".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "link").symlink_to("real.txt")
    atomic.text(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "table"])
def test_results_go_to_a_device_that_stays_one(tmp_path: Path, form: str) -> None:
    null = device(tmp_path / "null", 3)
    before = null.stat()
    words = ["show", EXAMPLE, "--benchmark", "mpi.latency", "--format", form, "--output", str(null)]
    assert main(words) == 0
    after = null.stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)


def test_an_archive_goes_to_a_device_and_to_a_pipe(tmp_path: Path) -> None:
    campaign, null, fifo = filled(tmp_path / "c", 4), device(tmp_path / "null", 3), tmp_path / "fifo"
    inode = null.stat().st_ino
    assert main(["export", str(campaign.path), "--output", str(null)]) == 0
    assert (stat.S_ISCHR(null.stat().st_mode), null.stat().st_ino) == (True, inode)
    os.mkfifo(fifo)
    reader, received = drained(fifo)
    assert main(["export", str(campaign.path), "--output", str(fifo)]) == 0
    reader.join(240)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    (tmp_path / "c.zip").write_bytes(received[0])
    assert archive.verify(tmp_path / "c.zip")[1] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "c.zip", "fifo", "null"]


def test_results_go_to_a_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader, received = drained(fifo)
    words = ["show", EXAMPLE, "--benchmark", "mpi.latency", "--format", "parquet", "--output", str(fifo)]
    assert main(words) == 0
    reader.join(240)
    assert pq.read_table(io.BytesIO(received[0])).num_rows > 0


@pytest.mark.slow
def test_a_dash_is_standard_output(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 4)
    command = [sys.executable, "-m", "labkit", "export", str(campaign.path), "--output", "-"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert zipfile.ZipFile(io.BytesIO(done.stdout)).testzip() is None
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_pipe_that_nobody_reads_is_an_error_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "fifo")
    began = time.monotonic()
    with pytest.raises(DataError, match=r"fifo cannot be written: .*Start its reader first"):
        atomic.text(tmp_path / "fifo", "x")
    assert time.monotonic() - began < 60


def test_a_full_device_is_named(tmp_path: Path) -> None:
    full = device(tmp_path / "full", 7)
    with pytest.raises(DataError, match=r"full cannot be written: No space left on device\. Free space"):
        atomic.text(full, "x" * 100_000)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("folder", "it is a folder. Name a file in it"),
        ("missing/a.txt", "No such file or directory. Create its folder first: mkdir -p .*missing"),
        ("file/a.txt", "cannot be written"),
        ("x" * 300, "File name too long. Choose a shorter name"),
        ("loop", "Its links form a loop"),
        ("nul\0", "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_named_with_the_remedy(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(DataError, match=said):
        atomic.text(tmp_path / name, "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_long_name_that_fits_is_written(tmp_path: Path) -> None:
    atomic.text(tmp_path / ("x" * 255), "y")
    assert (tmp_path / ("x" * 255)).read_text() == "y"


# ---- files of labkit's own


class Disk:
    """What a writer asked of the system, in order: content and names that were waited for, and new names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        fsync, rename, link = os.fsync, os.rename, os.link

        def synced(handle: int) -> None:
            place = Path(f"/proc/self/fd/{handle}").readlink()
            self.done.append("names" if place.is_dir() else f"content of {place.stat().st_size} B")
            fsync(handle)

        def named(how):
            return lambda old, new, **more: (self.done.append(f"{Path(new).name}"), how(old, new, **more))[1]

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "rename", named(rename))
        monkeypatch.setattr(os, "link", named(link))


def test_a_durable_file_is_on_the_disk_before_and_after_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    atomic.replace(tmp_path / "a", "µ", durable=True)
    atomic.create(tmp_path / "b", b"xyz", durable=True)
    atomic.text(tmp_path / "c", "1234")
    assert disk.done == ["content of 2 B", "a", "names", "content of 3 B", "b", "names", "content of 4 B", "c", "names"]
    disk.done.clear()
    atomic.replace(tmp_path / "a", "quick")
    assert disk.done == ["a"]


@pytest.mark.parametrize("kind", ["point", "compacted", "campaign.json"])
def test_what_a_log_acknowledges_is_durable(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = filled(tmp_path / "c", 3)
    disk = Disk(monkeypatch)
    if kind == "point":
        campaign.save(made.samples("mpi.latency", [1, 2, 3]), "0" * 16)
    elif kind == "compacted":
        campaign.compact()
    else:
        campaign.update({"title": "x"})
    places = [n for n, done in enumerate(disk.done) if done.endswith(".parquet") or done == "campaign.json"]
    assert places
    for place in places:
        assert disk.done[place - 1].startswith("content of ")
        assert disk.done[place + 1] == "names"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def broken(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "no space")

    atomic.replace(tmp_path / "a", "old")
    for write in (atomic.replace, atomic.create):
        with pytest.raises(OSError, match="no space"):
            write(tmp_path / "a", broken)
    assert (tmp_path / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_of_several_that_create_a_file_one_succeeds_and_none_is_seen_half(tmp_path: Path) -> None:
    seen: set[bytes] = set()
    won: list[int] = []

    def one(number: int) -> None:
        if atomic.create(tmp_path / "a", bytes([number]) * 100_000):
            won.append(number)
        seen.add((tmp_path / "a").read_bytes())

    threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert seen == {bytes(won) * 100_000}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_secret_is_never_readable_by_others(tmp_path: Path) -> None:
    atomic.create(tmp_path / "key", b"x", mode=0o600)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_no_module_has_an_atomic_write_of_its_own() -> None:
    """Files of labkit get their names in `labkit.io.atomic`; folders, locks and leases that are moved are listed here."""
    moved = {"io/scratch.py", "report/stage.py", "store/lease.py", "run/staging/archive.py", "run/staging/node.py"}
    package = Path(atomic.__file__).parents[1]
    modules = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(
            r"\bos\.(fsync|link|replace|rename)\(|\b(aside|fresh|partial|running|temporary)\.(rename|replace)\(",
            path.read_text(),
        )
    }
    assert modules - moved == {"io/atomic.py"}
