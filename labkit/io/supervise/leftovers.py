"""Removes what killed programs leave: an MPI's shared memory and session folders, and files of storage benchmarks.

`supervisor` loads this file by its path. Like it, it needs only the standard library. The process that ends a tree
lists its leftovers before and removes them after. It runs once for every command, so what only the owner needs (json,
pathlib, tempfile: 0.015 s) is imported inside functions. If supervisor and reaper are both killed, the owner removes
the files that it noted once the ranks had connected. If the owner is killed too, the next start of labkit reads the
note. Only files of these very processes are removed: by name, inode and user.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path  # by the owner only

RUNS, RANKS = "labkit-run-", "labkit-mpi-io-"  # how folders of tools and files of ranks begin
OWNER = "owner"  # file in such a folder that a living owner locks (labkit.io.scratch)


def left_by(pids: Sequence[int]) -> dict[str, int]:
    """Return the files and folders that these processes would leave if they were killed, with their inodes.

    These are mapped shared memory, the session folders of their mpirun, and the working folders and files of storage
    benchmarks. In another mount namespace, such as an emulated host's, a name may refer to another file. Only names
    that refer to the same file here are returned.
    """
    leftovers: dict[str, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for path in (*_mapped(pid), *_worked_in(pid)):
                with contextlib.suppress(OSError):
                    here = os.lstat(path)
                    if os.path.samestat(here, os.lstat(f"/proc/{pid}/root{path}")):
                        leftovers[path] = here.st_ino
    return leftovers


def _mapped(pid: int) -> list[str]:
    """Return the names of shared memory and session folders that a process has mapped."""
    paths = []
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        for line in file:
            path = line.rstrip("\n").partition("/")[2]
            if path.startswith("dev/shm/") and not path.endswith(" (deleted)"):
                paths.append(f"/{path}")
            elif "/ompi." in path:
                paths.append("/" + path[: path.index("/ompi.")] + _session(path[path.index("/ompi.") :]))
    return list(dict.fromkeys(paths))


def remove_own() -> None:
    """Remove the files of benchmarks that this process, a rank that ends by an error, has open."""
    with contextlib.suppress(OSError):
        remove({path: os.lstat(path).st_ino for path in _worked_in(os.getpid())})


def _worked_in(pid: int) -> list[str]:
    """Return the folder that a tool works in, and the files of benchmarks that a rank has open."""
    paths = []
    with contextlib.suppress(OSError):
        if os.path.basename(folder := os.readlink(f"/proc/{pid}/cwd")).startswith(RUNS):  # noqa: PTH115, PTH119
            paths.append(folder)
        for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                path = os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115
                if os.path.basename(path).startswith(RANKS) and not path.endswith(" (deleted)"):  # noqa: PTH119
                    paths.append(path)
    return paths


def _session(path: str) -> str:
    """Cut a path to the session folder, ``/ompi.HOST.UID/pid.N`` (Open MPI 4) or ``/ompi.N`` (5)."""
    parts = path.split("/")
    return "/".join(parts[: 2 if parts[1][5:].isdecimal() else 3])


def remove(leftovers: Mapping[str, int]) -> None:
    """Remove the leftovers that `left_by` found, if they are still the same files and belong to this user."""
    for path, inode in leftovers.items():
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            if status.st_ino != inode or status.st_uid != os.geteuid():
                continue
            if stat.S_ISREG(status.st_mode):
                os.unlink(path)  # noqa: PTH108
            elif stat.S_ISDIR(status.st_mode) and ("/ompi." in path or _is_abandoned(path)):
                import shutil  # 5 ms, and seldom needed

                shutil.rmtree(path, ignore_errors=True)
                if os.path.basename(above := os.path.dirname(path)).startswith("ompi."):  # noqa: PTH119, PTH120
                    os.rmdir(above)  # unless another session is in it  # noqa: PTH106


def _is_abandoned(folder: str) -> bool:
    """Return whether a folder belongs to ranks that have ended, or to a run whose owner was killed.

    Nobody locks the mark of such a run any more.
    """
    if os.path.basename(folder).startswith(RANKS):  # noqa: PTH119
        return True
    if not os.path.basename(folder).startswith(RUNS):  # noqa: PTH119
        return False
    handle = os.open(os.path.join(folder, OWNER), os.O_RDONLY | os.O_NOFOLLOW)  # noqa: PTH118
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)
    return True


class Note:
    """A file that names what a tree would leave, for a later start of labkit. `close` removes it.

    Parameters
    ----------
    mark : mark of the tree.
    """

    def __init__(self, mark: str) -> None:
        self._path = notes() / f"{mark}.json"
        self.leftovers: dict[str, int] = {}

    def write(self, pids: Sequence[int]) -> None:
        """Note what these processes of the tree would leave."""
        self.leftovers |= left_by(pids)
        if not self.leftovers:
            return
        import json  # by the owner only

        alive = {str(pid): begin_time(pid) for pid in [os.getpid(), *pids]}
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            if _is_private(self._path.parent):
                self._path.write_text(json.dumps({"place": namespaces(), "alive": alive, "left": self.leftovers}))

    def close(self) -> None:
        """Remove the leftovers and the note."""
        remove(self.leftovers)
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
            self._path.parent.rmdir()


def notes() -> Path:
    """Return the folder of this user's notes."""
    import tempfile  # by the owner only
    from pathlib import Path  # by the owner only

    return Path(tempfile.gettempdir()) / f"labkit-trees-{os.geteuid()}"


def sweep() -> None:
    """Remove the leftovers of trees that have no living process and no living owner."""
    folder = notes()
    if not folder.is_dir() or not _is_private(folder):
        return
    import json  # by the owner only

    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            note = json.loads(path.read_text())
            if note["place"] != namespaces():
                continue
            if any(begin_time(int(pid)) == noted for pid, noted in note["alive"].items()):
                continue
            leftovers = {name: int(inode) for name, inode in note["left"].items()}
            remove({name: inode for name, inode in leftovers.items() if _is_leftover(name)})
            path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _is_leftover(name: str) -> bool:
    """Return whether a name is one that `left_by` can find."""
    return os.path.normpath(name) == name and (name.startswith("/dev/shm/") or "/ompi." in name)


def _is_private(folder: Path) -> bool:
    """Return whether a folder belongs to this user, and no other user can write to it."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def namespaces() -> str:
    """Return the scope in which process numbers and file names are unique: the boot, and the namespaces."""
    from pathlib import Path  # by the owner only

    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return " ".join([boot, *(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "mnt"))])


def begin_time(pid: int) -> str:
    """Return the start time of a process, which distinguishes it from a later one with the same number.

    Empty if it is gone.
    """
    from pathlib import Path  # by the owner only

    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
