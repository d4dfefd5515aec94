"""Copies of what ranks load: when they are made, what is in them, and what becomes of them. No rank is started."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit import worker
from labkit.errors import LaunchError, SpecError
from labkit.host import filesystems
from labkit.io import mounts as labkit_mounts
from labkit.io.mounts import Mount, mount_of, mounts
from labkit.point.spec import Spec
from labkit.run import launch, staging
from labkit.run.launch import Placement
from labkit.run.point import Failure, Point
from labkit.run.schedule import run_concurrently
from labkit.run.staging import archive, node, packed

TABLE = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 21 0:40 / /home rw,nosuid shared:1 - nfs4 server:/export/home rw,vers=4.2
23 21 0:41 / /scratch rw - lustre 10.0.0.1@o2ib:/scratch rw
24 22 0:42 / /home/me/local rw - xfs /dev/sdb1 rw
25 21 0:43 / /mnt/with\\040space rw - fuse.sshfs me@there:/x rw
26 21 0:44 / /image ro - fuse.squashfuse squashfuse ro
27 21 0:45 / /tmp rw - tmpfs tmpfs rw
"""
TWO = Placement(ranks=4, hosts=("n1:2", "n2:2"))
HERE = Placement(ranks=4)


@pytest.fixture
def there(tmp_path: Path) -> list[Mount]:
    (tmp_path / "mountinfo").write_text(TABLE)
    return mounts(tmp_path / "mountinfo")


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/opt/labkit", "ext4", False),
        ("/home/me/.venv", "nfs4", True),
        ("/home/me/local/.venv", "xfs", False),
        ("/homes", "ext4", False),
        ("/scratch", "lustre", True),
        ("/mnt/with space/x", "fuse.sshfs", True),
        ("/image/x", "fuse.squashfuse", False),
    ],
)
def test_a_path_is_on_the_innermost_file_system(there: list[Mount], path: str, kind: str, network: bool) -> None:
    mount = mount_of(path, there)
    assert (mount.kind, mount.network) == (kind, network)


def test_a_node_names_the_same_file_systems_as_the_parent(there: list[Mount], tmp_path: Path) -> None:
    for path in ("/opt", "/home/me/.venv", "/home/me/local/x", "/scratch/x", "/mnt/with space/x", "/tmp/x"):
        assert node.kind_of(path, str(tmp_path / "mountinfo")) == mount_of(path, there).kind


def test_a_kernel_that_tells_nothing_is_no_network(tmp_path: Path) -> None:
    assert mounts(tmp_path / "nothing") == []
    assert not mount_of("/home", []).network
    assert node.kind_of("/home", str(tmp_path / "nothing")) == ""


@pytest.mark.parametrize(
    ("placement", "switch", "shared", "wanted"),
    [
        (TWO, "auto", True, True),
        (TWO, "auto", False, False),
        (TWO, "no", True, False),
        (HERE, "auto", True, False),
        (replace(HERE, nodes=2), "auto", True, True),
        (replace(HERE, ranks=staging.MANY_RANKS), "auto", True, True),
        (HERE, "yes", False, True),
    ],
)
def test_copies_are_made_where_they_are_of_use(placement: Placement, switch: str, shared: bool, wanted: bool) -> None:
    assert staging.is_wanted(placement, switch, shared) == wanted


def test_a_switch_that_says_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystems.SWITCH, "perhaps")
    with pytest.raises(SpecError, match="must be one of auto, yes, no"), staging.session(print):
        pass


def test_the_switch_is_no_part_of_a_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec(benchmark="mpi.latency")
    before = spec.fingerprint({})
    monkeypatch.setenv(filesystems.SWITCH, "yes")
    assert spec.fingerprint({}) == before


def test_outside_of_a_session_a_rank_starts_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystems.SWITCH, "yes")
    words = [sys.executable, "-m", "labkit.worker", "PLAN"]
    assert staging.command(words, TWO, anything()) == words
    assert staging.doubts(TWO, []) == []


def test_starts_side_by_side_are_in_the_session_of_their_campaign() -> None:
    def run(points: Sequence[Point]) -> Iterator[Failure]:
        seen.append(staging._session.get())
        yield from ()

    seen: list[object] = []
    with staging.session(print):
        outer = staging._session.get()
        with staging.session(print):
            assert not list(run_concurrently([([], ("a",)), ([], ("b",))], run))
    assert seen == [outer, outer]
    assert outer is not None
    assert staging._session.get() is None


def anything() -> launch.Launcher:
    """A launcher that is not asked for anything."""
    return launch.Launcher("openmpi", "/bin/true", "Open MPI 5.0.0", (5, 0, 0), launch.libraries()["openmpi"])


# ---- on a node ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> dict[str, Any]:
    """Parameters for an archive of two files, and one place for copies."""
    files = {"lib/one.pyc": b"1" * 1000, f"lib/{'deep/' * 25}two.so": b"2" * 3_000_000}
    with tarfile.open(tmp_path / "archive.tar", "w", format=tarfile.USTAR_FORMAT) as made:
        for name, data in files.items():
            archive._add(made, name, data, 0o700 if name.endswith(".so") else 0o600)
    place = tmp_path / "place"
    place.mkdir()
    size = (tmp_path / "archive.tar").stat().st_size
    return {
        "name": "0123456789abcdef",
        "folder": "labkit-staged-test",
        "places": [str(place)],
        "archive": str(tmp_path / "archive.tar"),
        "size": size,
        "members": 2,
        "needs": size,
        "network": sorted(labkit_mounts.NETWORK),
        "local": list(labkit_mounts.LOCAL_FUSE),
        "environment": ["/bin/echo", "environment"],
        "rank": "/nowhere",
    }


def left(p: dict[str, Any]) -> list[str]:
    """Everything in the place for copies."""
    return [str(path.relative_to(p["places"][0])) for path in Path(p["places"][0]).rglob("*")]


def test_a_copy_is_made_once_with_its_modes_and_removed(small: dict[str, Any]) -> None:
    folder, how = node.stage(small)
    assert how == "unpacked"
    assert folder == f"{small['places'][0]}/labkit-staged-test/{small['name']}"
    two = Path(folder, "lib", *["deep"] * 25, "two.so")
    assert two.read_bytes() == b"2" * 3_000_000
    assert two.stat().st_mode & 0o777 == 0o700
    assert Path(folder, "lib/one.pyc").stat().st_mode & 0o777 == 0o600
    assert Path(folder).parent.stat().st_mode & 0o777 == 0o700
    assert node.stage(small) == (folder, "reused")
    assert node.remove(small) == []
    assert left(small) == []


def test_a_copy_in_use_stays(small: dict[str, Any]) -> None:
    folder, _ = node.stage(small)
    with Path(f"{folder}.lock").open() as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        assert node.remove(small) == [folder]
        assert Path(folder, node.COMPLETE).exists()
    assert node.remove(small) == []
    assert left(small) == []


def test_one_of_many_copies_and_the_others_wait(small: dict[str, Any]) -> None:
    children = []
    for _ in range(8):
        if not (pid := os.fork()):
            try:
                os._exit(10 if node.stage(small)[1] == "unpacked" else 20)
            except BaseException:
                os._exit(1)
        children.append(pid)
    said = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    assert said == [10] + [20] * 7


def test_what_a_killed_process_left_is_replaced(small: dict[str, Any]) -> None:
    root = Path(small["places"][0], small["folder"])
    (root / f"{small['name']}.part" / "lib").mkdir(parents=True)
    (root / f"{small['name']}.part" / "lib" / "one.pyc").write_bytes(b"half")
    root.chmod(0o700)
    assert node.stage(small)[1] == "unpacked"
    assert not (root / f"{small['name']}.part").exists()


@pytest.mark.parametrize("harm", ["short", "fewer"])
def test_a_damaged_archive_leaves_nothing_behind(small: dict[str, Any], harm: str) -> None:
    if harm == "short":
        os.truncate(small["archive"], small["size"] // 2)
    else:
        small["members"] = 3
    with pytest.raises(node.Refused, match="ends in the middle" if harm == "short" else "2 files, but must have 3"):
        node.stage(small)
    assert left(small) == []


def test_an_archive_that_was_sent_is_taken_if_it_is_whole(small: dict[str, Any], tmp_path: Path) -> None:
    sent = tmp_path / "sent.tar"
    sent.write_bytes(Path(small["archive"]).read_bytes())
    shared, small["archive"] = small["archive"], "/nowhere"
    assert node.stage(small, str(sent))[1] == "unpacked"
    node.remove(small)
    os.truncate(sent, 1000)
    small["archive"] = shared
    assert node.stage(small, str(sent))[1] == "unpacked"


def test_a_folder_of_somebody_else_is_refused(small: dict[str, Any]) -> None:
    root = Path(small["places"][0], small["folder"])
    root.mkdir(mode=0o700)
    root.chmod(0o777)
    with pytest.raises(node.Refused, match="is not a folder with mode 0700"):
        node.stage(small)
    root.rmdir()
    root.symlink_to("/tmp")
    with pytest.raises(node.Refused, match="is not a folder with mode 0700"):
        node.stage(small)
    root.unlink()
    if os.geteuid() == 0:
        root.mkdir(mode=0o700)
        os.chown(root, 12345, 12345)
        with pytest.raises(node.Refused, match="belongs to user 12345"):
            node.stage(small)


def test_a_full_or_unfit_place_is_left_for_the_next_one(small: dict[str, Any], tmp_path: Path) -> None:
    small["needs"] = 2**60
    with pytest.raises(node.Refused, match=r"MiB free, but a copy needs"):
        node.stage(small)
    small["needs"] = small["size"]
    small["places"] = ["/proc", str(tmp_path / "none"), "$LABKIT_NOT_SET", small["places"][0]]
    assert node.stage(small)[0].startswith(small["places"][3])
    small["places"] = small["places"][:3]
    with pytest.raises(node.Refused, match=f"{tmp_path}/none: No such file or directory"):
        node.stage(small)


def test_a_place_that_fills_up_is_left_clean(small: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(node, "_write", full)
    with pytest.raises(node.Refused, match="No space left on device"):
        node.stage(small)
    assert left(small) == []


def test_a_place_on_the_network_or_without_programs_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lists = (sorted(labkit_mounts.NETWORK), labkit_mounts.LOCAL_FUSE)
    monkeypatch.setattr(node, "kind_of", lambda place: "nfs4")
    assert node.unfit(str(tmp_path), 1, *lists) == f"{tmp_path} is on a network file system (nfs4)"
    monkeypatch.setattr(node, "kind_of", lambda place: "fuse.sshfs")
    assert "fuse.sshfs" in node.unfit(str(tmp_path), 1, *lists)
    monkeypatch.setattr(node, "kind_of", lambda place: "ext4")
    assert node.unfit(str(tmp_path), 1, *lists) == ""
    real = os.statvfs(tmp_path)
    seen = os.statvfs_result([*real[:8], real.f_flag | os.ST_NOEXEC, *real[9:]])
    monkeypatch.setattr(os, "statvfs", lambda place: seen)
    assert node.unfit(str(tmp_path), 1, *lists) == f"{tmp_path} is mounted noexec"


def test_copies_of_other_contents_go_when_nobody_has_used_them_for_a_while(small: dict[str, Any]) -> None:
    old, _ = node.stage(small)
    young, _ = node.stage({**small, "name": "1" * 16})
    used, _ = node.stage({**small, "name": "2" * 16})
    long_ago = time.time() - 2 * node.UNUSED
    for folder in (old, used):
        os.utime(f"{folder}/{node.COMPLETE}", (long_ago, long_ago))
    with Path(f"{used}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        node.stage({**small, "name": "3" * 16})
    assert not Path(old).exists()
    assert not Path(f"{old}.lock").exists()
    assert Path(young).exists()
    assert Path(used).exists()


def test_a_copy_that_has_lost_files_is_made_again(small: dict[str, Any]) -> None:
    folder, _ = node.stage(small)
    Path(folder, "lib/one.pyc").unlink()
    assert node.stage(small) == (folder, "unpacked")
    assert Path(folder, "lib/one.pyc").exists()


def test_who_waits_too_long_gives_up(small: dict[str, Any]) -> None:
    root = Path(small["places"][0], small["folder"])
    root.mkdir(mode=0o700)
    with (root / f"{small['name']}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(node.Refused, match="another process has held"):
            node.stage({**small, "patience": 0.1})


# ---- the archive ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[archive.Archive]:
    """An archive with the interpreter, in a cache and for a place of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv(archive.PLACE, str(tmp_path_factory.mktemp("place")))
        archive.made.cache_clear()
        yield archive.made(interpreter=True)
        archive.made.cache_clear()


def test_an_archive_is_made_once_for_its_content(made: archive.Archive) -> None:
    before = made.path.stat()
    archive.made.cache_clear()
    again = archive.made(interpreter=True)
    assert again == made
    assert again.path.stat().st_ino == before.st_ino
    assert archive.made(interpreter=False).name != made.name


def test_an_archive_holds_byte_code_of_what_a_rank_loads_and_nothing_else(made: archive.Archive) -> None:
    with tarfile.open(made.path) as opened:
        names = opened.getnames()
        assert all((entry.mtime, entry.uid) == (0, 0) for entry in opened)
    assert not [name for name in names if name.endswith(".py") and name != "start.py"]
    tops = {name.split("site-packages/")[1].split("/")[0] for name in names if "site-packages/" in name}
    assert {"labkit", "numpy", "mpi4py"} <= tops <= {"labkit", "numpy", "numpy.libs", "mpi4py"}
    assert any(name.endswith("labkit/worker/rank.pyc") for name in names)
    assert any(name.startswith("bin/python") for name in names)
    assert not {"tests", "test", "__pycache__"} & {part for name in names for part in name.split("/")}


def test_a_copy_is_where_modules_are_loaded_from(made: archive.Archive) -> None:
    """The rank's own script, with a module in the place of the worker that says what it sees."""
    staged = subprocess.run(made.on_node("stage"), capture_output=True, text=True, check=True)
    (result,) = staging.results(staged.stdout)
    assert result.folder
    (worker,) = Path(result.folder).rglob("labkit/worker/__main__.pyc")
    worker.rename(worker.with_suffix(".kept"))
    worker.with_suffix(".py").write_text(
        "import sys, numpy, mpi4py, numpy.ctypeslib, numpy.random, labkit.worker.rank, labkit.kernels.native\n"
        "from labkit import benchmarks; from labkit.kernels import native as kernels\n"
        "def main(words):\n"
        "    benchmarks.get('mpi.latency'), kernels.library(int_handles=False)\n"
        "    files = {getattr(one, '__file__', None) or '' for one in sys.modules.values()}\n"
        "    print(words, sys.dont_write_bytecode, *sorted(files - {''}), sep='\\n')\n"
    )
    done = subprocess.run(
        ["/bin/sh", str(made.rank), "PLAN", "a b"], capture_output=True, text=True, check=True, cwd="/"
    )
    worker.with_suffix(".kept").rename(worker)
    worker.with_suffix(".py").unlink()
    words, written, *files = done.stdout.splitlines()
    assert (words, written) == ("['PLAN', 'a b']", "True")
    assert len(files) > 100
    assert [file for file in files if not file.startswith(f"{result.folder}/")] == []
    assert subprocess.run(made.on_node("remove"), capture_output=True, text=True, check=True).stdout == ""
    assert not Path(result.folder).parent.exists()


@pytest.mark.slow
def test_a_rank_without_a_copy_makes_it_or_is_one_of_the_environment(made: archive.Archive) -> None:
    ask = ["/bin/sh", str(made.rank), "no plan"]
    done = subprocess.run(ask, capture_output=True, text=True)
    assert worker.reported_failure(done.stderr), done.stderr
    folder = Path(os.environ[archive.PLACE], f"labkit-staged-{os.geteuid()}")
    assert (folder / made.name / node.COMPLETE).exists()
    subprocess.run(made.on_node("remove"), check=True)
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    done = subprocess.run(ask, capture_output=True, text=True)
    folder.rmdir()
    assert worker.reported_failure(done.stderr), done.stderr


def test_an_archive_that_cannot_be_written_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    archive.made.cache_clear()
    with pytest.raises(LaunchError, match=r"the archive cannot be written to .*: Not a directory"):
        archive.made(interpreter=False)


def test_byte_code_that_is_out_of_date_is_made_again(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("value = 1\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
    first = archive.byte_code(source, source.read_bytes())
    source.write_text("value = 22\n")
    second = archive.byte_code(source, source.read_bytes())
    (tmp_path / "only").mkdir()
    for data, wanted in ((first, "1"), (second, "22")):
        (tmp_path / "only" / "module.pyc").write_bytes(data)
        words = [sys.executable, "-S", "-c", "import module; print(module.value)"]
        done = subprocess.run(words, cwd=tmp_path / "only", capture_output=True, text=True, check=True)
        assert done.stdout.strip() == wanted


def test_the_search_path_of_a_library_leads_into_the_copy() -> None:
    base = f"{sys.base_prefix}/lib".encode()
    library = b"\x7fELF..\0" + base + b"\0libc.so.6\0"
    relocated = archive.relocated(library, "bin/python3")
    assert len(relocated) == len(library)
    if len(base) >= len(b"$ORIGIN/../lib"):
        assert b"\0$ORIGIN/../lib\0" in relocated
    assert archive.relocated(b"text" + library[4:], "bin/python3") == b"text" + library[4:]
    assert archive.relocated(library + library, "bin/python3") == library + library


def test_old_archives_are_removed(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number:016x}").mkdir()
        at = time.time() - (8 - number) * archive.RECENT_S
        os.utime(tmp_path / f"{number:016x}", (at, at))
    archive.remove_old(tmp_path, keep=tmp_path / f"{0:016x}")
    assert sorted(int(path.name, 16) for path in tmp_path.iterdir()) == [0, 4, 5, 6, 7]


# ---- one file for ranks on this machine -------------------------------------------------------------------------------


@pytest.fixture
def little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the place of labkit, whose worker prints the value of a module, and an empty cache."""
    package = tmp_path / "site-packages" / "labkit"
    (package / "worker").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "worker" / "__init__.py").touch()
    (package / "value.py").write_text("value = 1\n")
    (package / "worker" / "__main__.py").write_text(
        "import sys, site, json\nfrom labkit import value\n"
        "def main(words):\n"
        "    print(json.dumps([words, value.value, value.__file__, sys.prefix, site.PREFIXES[0], sys.path]))\n"
    )
    names = ("labkit", "labkit.value", "labkit.worker", "labkit.worker.__main__")
    files = (package / "__init__.py", package / "value.py", *sorted((package / "worker").glob("*.py")))
    found = {"modules": dict(zip(names, map(str, files), strict=True)), "path": [*sys.path, str(package.parent)]}
    monkeypatch.setattr(archive, "probed", lambda *flags: found | {"user_site": False, "user_base": None})
    monkeypatch.setattr(packed.labkit, "__file__", str(package / "__init__.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return package


def said_by(file: Path | None) -> list[Any]:
    """What a rank of the little package prints."""
    assert file is not None
    words = [sys.executable, *packed.FLAGS, str(file), "PLAN"]
    said: list[Any] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True, cwd="/").stdout)
    return said


def test_a_rank_on_this_machine_loads_from_one_file(little: Path) -> None:
    file = packed.made()
    for module in little.rglob("*.py"):
        module.rename(module.with_suffix(".away"))
    words, value, origin, prefix, first, path = said_by(file)
    assert (words, value, origin) == (["PLAN"], 1, str(little / "value.py"))
    assert prefix == first == sys.prefix
    assert path == [*sys.path, str(little.parent)]


def test_what_a_site_runs_at_each_start_of_python_runs_in_ranks_too(
    little: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    custom = little.parent / "sitecustomize.py"
    custom.write_text("from labkit import value\nvalue.value = 7\n")
    found = archive.probed()
    changed = found | {"modules": found["modules"] | {"sitecustomize": str(custom)}}
    monkeypatch.setattr(archive, "probed", lambda *flags: changed)
    assert said_by(packed.made())[1] == 7


def test_a_changed_module_is_what_the_next_rank_loads(little: Path) -> None:
    first = packed.made()
    assert packed.made() == first
    assert said_by(first)[1] == 1
    (little / "value.py").write_text("value = 2\n")  # of the same length
    second = packed.made()
    assert second != first
    assert said_by(second)[1] == 2


def test_files_that_ranks_no_longer_use_are_removed(little: Path, tmp_path: Path) -> None:
    folder, made = tmp_path / "cache" / "labkit" / "ranks", []
    for number in range(packed.MOST_FILES + 2):
        (little / "value.py").write_text(f"value = {number:2}\n")
        made.append(packed.made())
        for path in folder.iterdir():
            os.utime(path, (time.time() - 2 * packed.RECENT_S,) * 2)
    (little / "value.py").write_text("value = 99\n")
    last = packed.made()
    assert last not in made
    assert len(list(folder.iterdir())) == packed.MOST_FILES
    assert packed.made() == last  # what lists its modules is there


def test_what_is_installed_later_gives_another_file(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(little.parent))
    first = packed.made()
    (little.parent / "numpy").mkdir()  # it could come before the one that ranks have loaded so far
    assert packed.made() != first


def test_ranks_of_another_labkit_than_the_parent_get_no_file(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed.labkit, "__file__", "/elsewhere/labkit/__init__.py")
    plain = [sys.executable, "-m", "labkit.worker", "PLAN"]
    assert packed.words(plain) == plain


@pytest.mark.parametrize("harm", ["no folder", "of others", "relative"])
def test_without_a_file_a_rank_starts_from_the_environment(
    little: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, harm: str
) -> None:
    if harm == "no folder":
        (tmp_path / "cache").touch()
    elif harm == "of others":
        (tmp_path / "cache" / "labkit" / "ranks").mkdir(parents=True, mode=0o777)
        (tmp_path / "cache" / "labkit" / "ranks").chmod(0o777)
    else:
        monkeypatch.setenv("PYTHONPATH", "/opt:lib")
    plain = [sys.executable, "-m", "labkit.worker", "PLAN"]
    assert packed.words(plain) == plain
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.mark.parametrize(
    ("placement", "switch", "one_file"),
    [
        (HERE, "auto", True),
        (HERE, "no", False),
        (replace(HERE, nodes=1), "auto", False),  # srun may start it elsewhere
        (replace(HERE, nodes=1, hosts=("localhost",)), "auto", True),
        (TWO, "auto", False),
        (replace(TWO, remote_shell="/run/shell"), "auto", True),
        (replace(HERE, settings=(("PYTHONPATH", "/opt"),)), "auto", False),
    ],
)
def test_ranks_load_from_one_file_where_they_see_this_cache(
    little: Path, monkeypatch: pytest.MonkeyPatch, placement: Placement, switch: str, one_file: bool
) -> None:
    monkeypatch.setenv(filesystems.SWITCH, switch)
    monkeypatch.setattr(filesystems, "on_network", dict)
    plain = [sys.executable, "-m", "labkit.worker", "PLAN"]
    with staging.session(print):
        assert (staging.command(plain, placement, anything()) != plain) == one_file
        assert (staging.here(plain) != plain) == (switch != "no")
    assert staging.here(plain) == plain


# ---- the session ----------------------------------------------------------------------------------------------------


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, made: archive.Archive) -> tuple[staging.Session, list[str]]:
    """A session with the archive of this file, and what it tells."""
    messages: list[str] = []
    monkeypatch.setenv(filesystems.SWITCH, "yes")
    monkeypatch.setattr(archive, "made", lambda interpreter: made)
    return staging.Session(messages.append), messages


def test_a_session_copies_once_and_removes(session: tuple[staging.Session, list[str]]) -> None:
    staged, messages = session
    script = staged.script(HERE, anything())
    assert Path(script).is_file()
    assert staged.script(HERE, anything()) == script
    assert len(messages) == 1
    assert messages[0].startswith("staged ")
    staged.close()
    assert messages[1:] == ["removed the copies on 1 host"]
    assert staged.reasons(HERE) == []


def test_a_node_that_cannot_copy_is_told_and_noted(
    session: tuple[staging.Session, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    staged, messages = session
    said = [staging.Result("n1", "/tmp/x"), staging.Result("n2", reason="/tmp: No space left on device")]
    monkeypatch.setattr(staging, "_run_on_each", lambda *_, **__: (said, ""))
    assert staged.script(TWO, anything()) == ""
    assert "n2: /tmp: No space left on device" in messages[0]
    assert staged.reasons(TWO) == ["n2: /tmp: No space left on device"] * 2
    staged.close()
    assert messages[1] == "copies stay: n2: /tmp: No space left on device"  # n1 has one: the removal was tried


def test_tasks_that_cannot_be_started_leave_the_copying_to_the_first_rank(
    session: tuple[staging.Session, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise LaunchError("There is no program 'mpirun' on the PATH.")

    staged, messages = session
    monkeypatch.setattr(staging, "_run_on_each", refuse)
    assert staged.script(TWO, anything())
    assert messages[0].endswith("There is no program 'mpirun' on the PATH. The first rank of each node copies.")
    staged.close()
    assert messages[1] == "copies stay: There is no program 'mpirun' on the PATH."


def test_nodes_that_do_not_answer_get_ranks_of_the_environment(
    session: tuple[staging.Session, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    staged, messages = session
    launcher = replace(anything(), program="/bin/echo")  # it starts nothing
    assert staged.script(TWO, launcher) == ""
    assert "0 of 2 hosts answered" in messages[0]
    assert len(staged.reasons(TWO)) == 2


@pytest.mark.parametrize("nodes", ["2", "4"])
def test_sbcast_sends_where_all_nodes_of_the_job_need_it(
    session: tuple[staging.Session, list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nodes: str
) -> None:
    staged, messages = session
    (tmp_path / "sbcast").write_text('#!/bin/sh\necho "$@" >>"$0.asked"\necho "error: no such job" >&2; exit 1\n')
    (tmp_path / "sbcast").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", nodes)
    asked: list[list[str]] = []

    def answer(command: list[str], *_: object, **__: object) -> tuple[list[staging.Result], str]:
        asked.append(command)
        return [staging.Result("n1", "/tmp/x", 0.5), staging.Result("n2", "/tmp/x", 0.2)], ""

    monkeypatch.setattr(staging, "_run_on_each", answer)
    assert staged.script(TWO, anything())
    assert asked[0][-1] == "stage"
    if nodes == "2":
        assert (tmp_path / "sbcast.asked").read_text().startswith("--force ")
        assert "sbcast did not send the archive" in messages[0]
        assert "error: no such job" in messages[0]
    else:
        assert not (tmp_path / "sbcast.asked").exists()
    assert " MiB to /tmp/x on 2 hosts in " in messages[-1]
    assert "(0.5 s on the slowest)" in messages[-1]


def test_an_archive_that_cannot_be_made_is_told_and_noted(
    session: tuple[staging.Session, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(interpreter: bool) -> archive.Archive:
        raise LaunchError("the archive cannot be written to /home: Disk quota exceeded")

    staged, messages = session
    monkeypatch.setattr(archive, "made", refuse)
    assert staged.script(HERE, anything()) == ""
    assert staged.script(HERE, anything()) == ""
    assert len(messages) == 1
    assert "Disk quota exceeded" in messages[0]
    assert staged.reasons(HERE) == ["the archive cannot be written to /home: Disk quota exceeded"]
    staged.close()


def test_one_task_goes_to_each_host(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = replace(TWO, hosts=("me:3", "n1:1"), local_names=("me",), transport="tcp", bind="socket")
    assert staging._hosts(placement) == ["", "n1"]
    tasks = staging._one_task_each(placement, ["", "n1"])
    assert tasks is not None
    assert tasks.shares == (("me", 1), ("n1", 1))
    assert (tasks.ranks, tasks.ppn, tasks.bind, tasks.transport) == (2, 1, "none", "auto")
    assert staging._one_task_each(HERE, [""]) is None
    assert staging._hosts(HERE) == staging._hosts(replace(TWO, remote_shell="/bin/ssh")) == [""]


def test_what_ranks_say_becomes_a_note() -> None:
    (doubt,) = staging.doubts(HERE, ["/tmp/labkit-staged-0/x", "no: n2: /tmp: No space left on device"])
    assert doubt.code == "not-staged"
    assert doubt.value("reason") == "n2: /tmp: No space left on device"
    assert staging.doubts(HERE, ["/tmp/labkit-staged-0/x"]) == []


def test_a_rank_from_a_copy_ends_with_the_exit_functions_of_python_and_of_its_libraries() -> None:
    """MPICH tells Hydra in one of C's that a rank is done; Hydra kills the others if a rank ends without it."""
    program = (
        "import atexit, ctypes, os, sys; from labkit.run.staging import start\n"
        "function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: os.write(1, b'library ') and None)\n"
        "ctypes.CDLL(None).__cxa_atexit(function, None, None)\n"
        "atexit.register(print, 'python', end=' ')\n"
        "start._leave(7)\n"
        "print('never')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (7, "python library ", "")
