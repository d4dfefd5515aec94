"""What runs on a node: copies what a rank needs to a folder of this node, once, and removes it again.

It runs as ``python -I -S`` and loads nothing but what every interpreter has built in, `os` and `fcntl`: the file system
that it spares is the one it would load from. `labkit.staging.archive` writes it beside the archive, with a call of
`main` and its parameters at the end. The first process that locks the copy's name unpacks the archive beside it and
renames the result; others wait for the lock. Ranks hold the lock shared, so a copy in use is never removed.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

COMPLETE = "complete"  # file in a copy; ranks touch it
PATIENCE = 60.0  # s to wait for somebody else who copies
UNUSED = 3600.0  # s after which a copy of another content that nobody uses is removed
SPARE = 16 * 2**20  # B left free for everybody else
PIECE = 2**20  # B that are copied at once
NO = "no: "  # how the variable LABKIT_STAGED begins in a rank that has no copy
STAGED, FAILED = "labkit-staged", "labkit-not-staged"  # how the line begins that tells the result
BLOCK = 512  # B of a tar archive
NOEXEC = 8  # ST_NOEXEC of statvfs(3)


class Refused(Exception):  # noqa: N818
    """A copy cannot be made, or a folder must not be used; says why."""


class Lock:
    """A locked file beside a copy.

    Parameters
    ----------
    path : of the file; it is made.
    seconds : to wait for others at most.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self.path, self._until, self._held = path, time.monotonic() + seconds, -1

    def __enter__(self) -> Lock:
        while True:
            held = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(held).st_ino == os.stat(self.path).st_ino:  # else its owner removed it meanwhile
                    self._held = held
                    return self
            except FileNotFoundError:
                pass
            except BlockingIOError:
                if time.monotonic() > self._until:
                    os.close(held)
                    raise Refused(f"others have held {self.path} for a long time") from None
                time.sleep(0.02)
            os.close(held)

    def __exit__(self, *_: object) -> None:
        os.close(self._held)


def own(root: str, *, make: bool = False) -> bool:
    """Whether a folder for copies is there, this user's and nobody else's.

    Parameters
    ----------
    make : make it if it is not there.

    Raises
    ------
    Refused
        If somebody else made it, or others can write there.
    """
    if make:
        try:
            os.mkdir(root, 0o700)
        except FileExistsError:
            pass
    try:
        there = os.lstat(root)
    except FileNotFoundError:
        return False
    if there.st_uid != os.geteuid():
        raise Refused(f"{root} belongs to user {there.st_uid}")
    if there.st_mode & 0o170077 != 0o040000:
        raise Refused(f"{root} is not a folder with mode 0700")
    return True


def unfit(place: str, needs: int, network: Sequence[str], local: Sequence[str]) -> str:
    """Why a place cannot hold a copy of so many bytes; empty where it can."""
    try:
        room = os.statvfs(place)
    except OSError as error:
        return f"{place}: {error.strerror}"
    kind = kind_of(place)
    if kind in network or (kind.startswith("fuse.") and kind not in local):
        return f"{place} is on a network file system ({kind})"
    if room.f_flag & NOEXEC:
        return f"{place} is mounted noexec"
    if room.f_bavail * room.f_frsize < needs + SPARE:
        free = room.f_bavail * room.f_frsize // 2**20
        return f"{place} has {free} MiB free, but a copy needs {(needs + SPARE) // 2**20} MiB"
    return "" if os.access(place, os.W_OK | os.X_OK) else f"{place} cannot be written"


def kind_of(place: str, table: str = "/proc/self/mountinfo") -> str:
    """Type of the file system that a place is on (proc(5), mountinfo); empty if the kernel does not tell."""
    place, best, found = os.path.realpath(place), "", ""
    try:
        with open(table, "rb") as file:
            lines = file.read().decode(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    for line in lines:
        left, _, right = line.partition(" - ")
        point = left.split()[4].replace("\\040", " ")
        inside = point == "/" or place == point or place.startswith(point + "/")
        if inside and len(point) >= len(best):  # a later mount on the same point covers the earlier
            best, found = point, right.split()[0]
    return found


def stage(p: Mapping[str, Any], broadcast: str = "") -> tuple[str, str]:
    """Folder of the copy on this node, and whether it was ``unpacked`` or ``reused``.

    Parameters
    ----------
    p : parameters, see `labkit.staging.archive.Archive`.
    broadcast : the archive on this node, where somebody sent it; else it is read where it was made.

    Raises
    ------
    Refused
        If no place fits; says why for each.
    """
    found = present(p)
    if found:
        return found, "reused"
    reasons = []
    for place in places(p):
        why = unfit(place, p["needs"], p["network"], p["local"])
        if not why:
            try:
                return _made(f"{place}/{p['folder']}", p, broadcast)
            except OSError as error:
                why = f"{place}: {error.strerror}"
            except Refused as error:
                why = str(error)
        reasons.append(why)
    raise Refused("; ".join(dict.fromkeys(reasons)) or "no folder of this node is named")


def places(p: Mapping[str, Any]) -> list[str]:
    """Folders that may hold copies, the best first; those that name a variable which is not set are left out."""
    named = [os.environ.get(word[1:], "") if word.startswith("$") else word for word in p["places"]]
    return list(dict.fromkeys(place.rstrip("/") for place in named if place.startswith("/")))


def present(p: Mapping[str, Any]) -> str:
    """Folder of a complete copy; empty where there is none."""
    for place in places(p):
        root = f"{place}/{p['folder']}"
        try:
            if own(root) and os.path.exists(f"{root}/{p['name']}/{COMPLETE}"):
                return f"{root}/{p['name']}"
        except Refused:
            continue
    return ""


def _made(root: str, p: Mapping[str, Any], broadcast: str) -> tuple[str, str]:
    """Make the copy, unless somebody else did while this process waited for the lock."""
    own(root, make=True)
    copy = f"{root}/{p['name']}"
    with Lock(f"{copy}.lock", p.get("patience", PATIENCE)):
        if os.path.exists(f"{copy}/{COMPLETE}"):
            return copy, "reused"
        part = f"{copy}.part"
        try:
            cleared(part)  # of one that was killed: nobody else is at it
            cleared(copy)
            _unpacked(p, broadcast, part)
            os.rename(part, copy)
        except BaseException:
            cleared(part)
            os.unlink(f"{copy}.lock")
            _gone(root)
            raise
        for name in os.listdir(root):
            if name.endswith(".lock") and name != f"{p['name']}.lock":
                _forget(root, name[:-5])
    return copy, "unpacked"


def _unpacked(p: Mapping[str, Any], broadcast: str, part: str) -> None:
    """Unpack what was sent to this node, or else what all nodes see."""
    if broadcast:
        try:
            there = os.lstat(broadcast)
            if there.st_uid == os.geteuid() and there.st_size == p["size"]:
                unpack(broadcast, part, p["members"])
                return
        except (OSError, Refused):
            cleared(part)
    unpack(p["archive"], part, p["members"])


def unpack(archive: str, folder: str, members: int) -> None:
    """Unpack a tar archive of regular files, as `labkit.staging.archive` writes it, into a new folder.

    Raises
    ------
    Refused
        If it has another number of members.
    """
    os.mkdir(folder, 0o700)
    there, made = 0, set()
    with open(archive, "rb") as source:
        while (head := source.read(BLOCK)).strip(b"\0"):
            name = b"/".join(filter(None, (head[345:500].rstrip(b"\0"), head[:100].rstrip(b"\0")))).decode()
            size, mode = int(head[124:135], 8), int(head[100:107], 8)
            above = os.path.dirname(f"{folder}/{name}")
            if above not in made:
                os.makedirs(above, 0o700, exist_ok=True)
                made.add(above)
            _write(source, f"{folder}/{name}", size, mode)
            source.read(-size % BLOCK)
            there += 1
    if there != members:
        raise Refused(f"{archive} has {there} files, but must have {members}")
    os.close(os.open(f"{folder}/{COMPLETE}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _write(source: IO[bytes], path: str, size: int, mode: int) -> None:
    """Copy so many bytes into a new file."""
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        while size:
            piece = memoryview(source.read(min(size, PIECE)))
            if not piece:
                raise Refused(f"the archive ends in the middle of {path}")
            size -= len(piece)
            while piece:
                piece = piece[os.write(target, piece) :]
    finally:
        os.close(target)


def remove(p: Mapping[str, Any]) -> list[str]:
    """Remove this node's copies; those that ranks use stay, and come back."""
    left = []
    for place in places(p):
        root = f"{place}/{p['folder']}"
        try:
            if own(root) and os.path.exists(f"{root}/{p['name']}.lock") and not _forget(root, p["name"], 0.0):
                left.append(f"{root}/{p['name']}")
            _gone(root)
        except (OSError, Refused):
            continue
    return left


def _forget(root: str, name: str, unused: float = UNUSED) -> bool:
    """Remove a copy that nobody has used for so many seconds; whether it is gone."""
    copy = f"{root}/{name}"
    try:
        with Lock(f"{copy}.lock", 0.0):
            if os.path.exists(f"{copy}/{COMPLETE}"):
                if unused and time.time() - os.stat(f"{copy}/{COMPLETE}").st_mtime < unused:
                    return False
                os.rename(copy, f"{copy}.part")  # from here on nobody finds it
            cleared(f"{copy}.part")
            os.unlink(f"{copy}.lock")
    except (OSError, Refused):
        return False
    return True


def _gone(root: str) -> None:
    """Remove a folder for copies if nothing is in it."""
    try:
        os.rmdir(root)
    except OSError:
        pass


def cleared(folder: str) -> None:
    """Remove a folder with everything in it; one that is not there is fine."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            os.unlink(f"{place}/{name}")
        for name in folders:
            path = f"{place}/{name}"
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    if os.path.isdir(folder):
        os.rmdir(folder)


def become_rank(words: Sequence[str], p: Mapping[str, Any]) -> None:
    """Be a rank of this node's copy, which is made if it is gone; without one, a rank of the environment."""
    try:
        stage(p)
    except (OSError, Refused) as error:
        os.environ["LABKIT_STAGED"] = f"{NO}{os.uname().nodename}: {error}"
        os.execv(p["environment"][0], [*p["environment"], *words])
    os.environ["LABKIT_STAGED_AGAIN"] = "1"
    os.execv("/bin/sh", ["/bin/sh", p["rank"], *words])


def main(words: Sequence[str], p: Mapping[str, Any]) -> int:
    """Do what the first word says: ``stage [ARCHIVE]``, ``remove`` or ``rank ARGUMENT…``; a line for each result."""
    began, host = time.monotonic(), os.uname().nodename
    if words[0] == "rank":
        become_rank(words[1:], p)
    _end_cleanly()
    if words[0] == "remove":
        for folder in remove(p):
            print(f"{FAILED}\t{host}\t{folder} is in use", flush=True)
        return 0
    broadcast = words[1] if len(words) > 1 else ""
    try:
        folder, how = stage(p, broadcast)
        print(f"{STAGED}\t{host}\t{folder}\t{how}\t{time.monotonic() - began:.3f}", flush=True)
    except (OSError, Refused) as error:
        print(f"{FAILED}\t{host}\t{error}", flush=True)
    finally:
        if broadcast:
            try:
                os.unlink(broadcast)
            except OSError:
                pass
    return 0


def _end_cleanly() -> None:
    """Have signals raise, so that what is half made is removed; `signal` itself would load a dozen modules."""
    import _signal  # type: ignore[import-not-found]

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    for number in (1, 2, 15):
        _signal.signal(number, end)
