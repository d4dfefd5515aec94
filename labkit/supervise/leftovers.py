"""What an MPI leaves behind when it is killed: shared memory, and the session folders of its mpirun.

`supervisor` loads this by its path and, like it, it needs the standard library alone. Whoever ends a tree looks before
and removes after. If supervisor and reaper are both killed the owner does, by what it noted when the ranks had met; if
the owner is killed with them, the next start of labkit reads the note. Only files of these very processes are removed:
by name, inode and user.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def left_by(pids: Sequence[int]) -> dict[str, int]:
    """Files and folders that an MPI of ours leaves when it is killed, with their inodes.

    Shared memory that these processes have mapped, and the session folders of their mpirun; nothing of another mount
    namespace, whose names mean other files here.
    """
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        ours = os.readlink("/proc/self/ns/mnt")  # noqa: PTH115
        for pid in pids:
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/mnt") == ours:  # noqa: PTH115
                    for path in _mapped(pid):
                        found[path] = os.lstat(path).st_ino
    return found


def _mapped(pid: int) -> list[str]:
    """Names of shared memory and session folders that a process has mapped."""
    found = []
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        for line in file:
            path = line.rstrip("\n").partition("/")[2]
            if path.startswith("dev/shm/") and not path.endswith(" (deleted)"):
                found.append(f"/{path}")
            elif "/ompi." in path:
                found.append("/" + path[: path.index("/ompi.")] + _session(path[path.index("/ompi.") :]))
    return list(dict.fromkeys(found))


def _session(path: str) -> str:
    """``/ompi.HOST.UID/pid.N`` (Open MPI 4) or ``/ompi.N`` (5) of a path below it."""
    parts = path.split("/")
    return "/".join(parts[: 2 if parts[1][5:].isdigit() else 3])


def remove(left: Mapping[str, int]) -> None:
    """Remove what `left_by` found and nobody else removed; only what is this user's, and still the same file."""
    for path, inode in left.items():
        with contextlib.suppress(OSError):
            there = os.lstat(path)
            if there.st_ino != inode or there.st_uid != os.geteuid():
                continue
            if stat.S_ISREG(there.st_mode):
                os.unlink(path)  # noqa: PTH108
            elif stat.S_ISDIR(there.st_mode) and "/ompi." in path:
                import shutil

                shutil.rmtree(path, ignore_errors=True)


class Note:
    """What a tree would leave, in a file for whoever comes after; gone with `close`.

    Parameters
    ----------
    mark : of the tree.
    """

    def __init__(self, mark: str) -> None:
        self._path = notes() / f"{mark}.json"
        self.left: dict[str, int] = {}

    def write(self, pids: Sequence[int]) -> None:
        """Look at the processes of the tree, and note what they would leave."""
        self.left |= left_by(pids)
        if not self.left:
            return
        alive = {str(pid): began(pid) for pid in [os.getpid(), *pids]}
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            if _own(self._path.parent):
                self._path.write_text(json.dumps({"place": place(), "alive": alive, "left": self.left}))

    def close(self) -> None:
        """Remove what is still there, and the note."""
        remove(self.left)
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
            self._path.parent.rmdir()


def notes() -> Path:
    """The folder of this user's notes."""
    return Path(tempfile.gettempdir()) / f"labkit-trees-{os.geteuid()}"


def sweep() -> None:
    """Remove what trees left of which no process and no owner is alive; others are not touched."""
    folder = notes()
    if not folder.is_dir() or not _own(folder):
        return
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            held = json.loads(path.read_text())
            if held["place"] != place() or any(began(int(pid)) == tick for pid, tick in held["alive"].items()):
                continue
            named = {name: int(inode) for name, inode in held["left"].items()}
            remove({name: inode for name, inode in named.items() if _ours(name)})
            path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _ours(name: str) -> bool:
    """Whether a name is of the kind that `left_by` finds."""
    return os.path.normpath(name) == name and (name.startswith("/dev/shm/") or "/ompi." in name)


def _own(folder: Path) -> bool:
    """Whether a folder is this user's alone."""
    there = folder.lstat()
    return stat.S_ISDIR(there.st_mode) and there.st_uid == os.geteuid() and not there.st_mode & 0o022


def place() -> str:
    """What process numbers and names of files belong to: a boot, and namespaces in it."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return " ".join([boot, *(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "mnt"))])


def began(pid: int) -> str:
    """When a process began, so that its number is not taken for that of a later one; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
