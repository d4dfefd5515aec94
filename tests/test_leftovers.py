"""What killed ranks leave in shared memory is removed, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from labkit.io import supervise
from labkit.io.supervise import leftovers
from labkit.run import launch
from tests.test_supervise import reaper
from tests.waiting import until

ROOT = Path(__file__).parents[1]
SHM = Path("/dev/shm")
RANKS = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
sent, received = np.zeros(64, "u1"), np.zeros(64, "u1")
first = True
while True:
    comm.Sendrecv(sent, 1 - comm.rank, recvbuf=received, source=1 - comm.rank)
    if first and comm.rank == 0:
        print("up", flush=True)
    first = False
"""


def command() -> tuple[list[str], dict[str, str]]:
    """Two ranks that talk over shared memory for ever."""
    launcher = launch.get("auto")
    placement = launch.Placement(
        ranks=2,
        cores=2,
        transport="shm",
        bind="none",
        version=launcher.version,
        library=launcher.kind,
        root=os.geteuid() == 0,
    )
    return launcher.command(placement, [sys.executable, "-c", RANKS]), launcher.environment(placement)


def segments(pids: list[int]) -> set[str]:
    return {path for path in leftovers.left_by(pids) if path.startswith("/dev/shm/")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the notes of this test go."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return leftovers.notes()


@pytest.mark.mpi
@pytest.mark.parametrize(
    "which",
    ["both", *(pytest.param(one, marks=pytest.mark.slow) for one in ("stop", "supervisor", "reaper", "mpirun"))],
)
def test_no_shared_memory_stays_whoever_is_killed(which: str, place: Path) -> None:
    argv, environment = command()
    with supervise.start(argv, env=os.environ | environment, grace=5) as tree:
        assert tree.stdout.readline() == b"up\n", tree.stderr_text()
        tree.note_leftovers()
        inner = reaper(tree)
        mpirun = int(Path(f"/proc/{inner}/task/{inner}/children").read_text().split()[0])
        paths = segments(supervise.supervisor.below(tree.pid))
        if not paths:
            pytest.skip("this MPI unlinks its shared memory at once")
        assert len(list(place.iterdir())) == 1
        for pid in {
            "stop": [],
            "supervisor": [tree.pid],
            "reaper": [inner],
            "both": [tree.pid, inner],
            "mpirun": [mpirun],
        }[which]:
            os.kill(pid, signal.SIGKILL)
        if which == "stop":
            tree.stop()
        assert tree.wait(240) is not None
    assert not [path for path in paths if Path(path).exists()]
    assert not place.exists()


@pytest.mark.mpi
def test_the_next_start_removes_what_nobody_could(tmp_path: Path) -> None:
    argv, environment = command()
    script = (
        "import sys, time\nfrom labkit.io import supervise\n"
        f"tree = supervise.start({argv!r})\n"
        "tree.stdout.readline()\n"
        "tree.note_leftovers()\nprint(tree.pid, flush=True)\ntime.sleep(600)\n"
    )
    settings = os.environ | environment | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    owner = subprocess.Popen([sys.executable, "-c", script], env=settings, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    supervisor = int(owner.stdout.readline())
    below = supervise.supervisor.below(supervisor)
    paths = segments(below)
    if not paths:
        owner.kill()
        owner.communicate()
        pytest.skip("this MPI unlinks its shared memory at once")
    foreign = SHM / f"vader_segment.foreign.{os.getpid()}"
    foreign.write_bytes(b"not labkit's")
    try:
        for pid in [owner.pid, supervisor, *below]:
            os.kill(pid, signal.SIGKILL)
        owner.communicate()
        until(lambda: not any(leftovers.begin_time(pid) for pid in [supervisor, *below]))
        assert [path for path in paths if Path(path).exists()]
        again = "from labkit.io import supervise\nwith supervise.start(['true']) as tree: tree.wait()"
        subprocess.run([sys.executable, "-c", again], env=settings, check=True)
        assert not [path for path in paths if Path(path).exists()]
        assert foreign.exists()
        assert not list(tmp_path.glob("labkit-trees-*"))
    finally:
        foreign.unlink()


def test_files_of_killed_ranks_go_with_them(tmp_path: Path) -> None:
    script = "exec 8>labkit-mpi-io-host-1 9>other; echo up; sleep 600"
    with supervise.start(["sh", "-c", script], cwd=tmp_path) as tree:
        assert tree.stdout.readline() == b"up\n"
        assert {path.name for path in tmp_path.iterdir()} == {"labkit-mpi-io-host-1", "other"}
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def note(folder: Path, left: dict[str, int], alive: dict[str, str], **changes: object) -> Path:
    """A note as a killed owner leaves it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{time.monotonic_ns()}.json"
    path.write_text(json.dumps({"place": leftovers.namespaces(), "alive": alive, "left": left, **changes}))
    return path


def test_only_files_of_dead_runs_that_are_still_the_same_are_removed(place: Path, tmp_path: Path) -> None:
    mine = [SHM / f"labkit-test-{os.getpid()}-{n}" for n in range(5)]
    for path in mine:
        path.touch()
    outside = tmp_path / "kept"
    outside.touch()
    inode = {str(path): path.stat().st_ino for path in [*mine, outside]}
    dead = {"999999999": "1"}
    try:
        notes = [
            note(place, {str(mine[0]): inode[str(mine[0])]}, dead),
            note(place, {str(mine[1]): inode[str(mine[1])]}, {str(os.getpid()): leftovers.begin_time(os.getpid())}),
            note(place, {str(mine[2]): inode[str(mine[2])] + 1}, dead),
            note(place, {str(mine[3]): inode[str(mine[3])]}, dead, place="another boot"),
            note(place, {str(outside): inode[str(outside)], f"/dev/shm/../..{outside}": inode[str(outside)]}, dead),
        ]
        (place / "spoilt.json").write_text("{")
        leftovers.sweep()
        assert [path.exists() for path in mine] == [False, True, True, True, True]
        assert outside.exists()
        assert [path.exists() for path in notes] == [False, True, False, True, False]
    finally:
        for path in mine:
            path.unlink(missing_ok=True)


def test_a_folder_of_notes_that_others_may_write_to_is_not_believed(place: Path) -> None:
    path = SHM / f"labkit-test-{os.getpid()}"
    path.touch()
    try:
        kept = note(place, {str(path): path.stat().st_ino}, {"999999999": "1"})
        place.chmod(0o777)
        leftovers.sweep()
        assert kept.exists()
        assert path.exists()
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("mapped", "folder"),
    [
        ("/ompi.vm.0/pid.31032/pmix_dstor_ds21_31032/smseg-0", "/ompi.vm.0/pid.31032"),
        ("/ompi.31206/1/pmix-gds-shmem2", "/ompi.31206"),
    ],
)
def test_session_folders_are_told_from_what_lies_in_them(mapped: str, folder: str) -> None:
    assert leftovers._session(mapped) == folder


MAPPED = """
import mmap, sys, time
file = open(sys.argv[1], "r+b")
mapped = mmap.mmap(file.fileno(), 0)
print("up", flush=True)
time.sleep(600)
"""


@pytest.mark.netns
@pytest.mark.parametrize("same", [True, False])
def test_the_session_folder_of_an_emulated_host_goes_if_it_is_the_same_here(same: bool, tmp_path: Path) -> None:
    session = tmp_path / "ompi.vc0.0" / "pid.7"
    session.mkdir(parents=True)
    (session / "segment").write_bytes(b"0" * 4096)
    hide = "" if same else f"mount -t tmpfs none {tmp_path}; mkdir -p {session}; printf 0 >{session}/segment; "
    program = f'{hide}exec {sys.executable} -c "$0" {session}/segment'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", program, MAPPED]
    with supervise.start(command, grace=0.2) as tree:
        assert tree.stdout.readline() == b"up\n", tree.stderr_text()
    assert session.exists() == (not same)
    assert (tmp_path / "ompi.vc0.0").exists() == (not same), "the empty folder above goes too"
