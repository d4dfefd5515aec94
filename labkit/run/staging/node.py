"""Runs on a node: copies what a rank needs to a folder of this node, once, and removes it again.

It runs as ``python -I -S`` and loads only `os`, `fcntl` and built-in modules, because other modules would come from the
shared file system. `labkit.run.staging.archive` writes it beside the archive and appends a call of `main` with its
parameters.

The first process that locks the name of a copy unpacks the archive beside it and renames the result; others wait for
the lock. Ranks hold the lock shared, so a copy in use is never removed.

Parameters are a mapping with these keys: ``places`` (folders of a node that may hold copies, the best first; ``$NAME``
represents a variable), ``folder`` (of this user, in such a place), ``name`` (of the copy), ``archive``, its ``size`` in
B and the number of its ``members``, ``needs`` (B of a copy), ``network`` and ``local`` (types of file systems),
``rank`` (script that starts a rank from a copy) and ``environment`` (words that start one without).
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

COMPLETE = "complete"  # file in a copy; ranks set its time
STAGED, FAILED = "labkit-staged", "labkit-not-staged"  # first word of the line that tells the result
NO_COPY = "no: "  # how the variable LABKIT_STAGED begins in a rank that has no copy
PATIENCE = 60.0  # s to wait for another process that makes the copy
ENDING = 1.0  # s that ranks may need to end, before a copy counts as in use
UNUSED = 3600.0  # s after which a copy of other content is removed if nobody uses it
SPARE = 16 * 2**20  # B that stay free
PIECE = 2**20  # B that are copied at once
BLOCK = 512  # B of a tar archive
NOEXEC = 8  # ST_NOEXEC of statvfs(3)
FOLDER_0700 = 0o040700


class Refused(Exception):  # noqa: N818
    """A copy cannot be made, or a folder must not be used; says why."""


class Lock:
    """A locked file beside a copy.

    Parameters
    ----------
    path : path of the file; created if it does not exist.
    seconds : to wait for other processes at most.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self.path, self._until, self._file = path, time.monotonic() + seconds, -1

    def __enter__(self) -> Lock:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file).st_ino == os.stat(self.path).st_ino:  # else its owner has removed it meanwhile
                    self._file = file
                    return self
            except FileNotFoundError:
                pass
            except BlockingIOError:
                if time.monotonic() > self._until:
                    os.close(file)
                    raise Refused(f"another process has held {self.path} for too long") from None
                time.sleep(0.02)
            os.close(file)

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def is_own(root: str) -> bool:
    """Return whether a folder for copies is there.

    Raises
    ------
    Refused
        If somebody else made it, or others can write there.
    """
    try:
        status = os.lstat(root)
    except FileNotFoundError:
        return False
    if status.st_uid != os.geteuid():
        raise Refused(f"{root} belongs to user {status.st_uid}")
    if status.st_mode & 0o170777 != FOLDER_0700:
        raise Refused(f"{root} is not a folder with mode 0700")
    return True


def unfit(place: str, needs: int, network: Sequence[str], local: Sequence[str]) -> str:
    """Return why a place cannot hold a copy of this many bytes; empty if it can."""
    try:
        room = os.statvfs(place)
    except OSError as error:
        return f"{place}: {error.strerror}"
    kind = kind_of(place)
    if kind in network or (kind.startswith("fuse.") and kind not in local):
        return f"{place} is on a network file system ({kind})"
    if room.f_flag & NOEXEC:
        return f"{place} is mounted noexec"
    free = room.f_bavail * room.f_frsize
    if free < needs + SPARE:
        return f"{place} has {free // 2**20} MiB free, but a copy needs {(needs + SPARE) // 2**20} MiB"
    return "" if os.access(place, os.W_OK | os.X_OK) else f"{place} cannot be written"


def kind_of(place: str, table: str = "/proc/self/mountinfo") -> str:
    """Return the type of the file system of a path (proc(5), mountinfo); empty if unknown."""
    place, innermost, kind = os.path.realpath(place), "", ""
    try:
        with open(table, "rb") as file:
            lines = file.read().decode(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    for line in lines:
        left, _, right = line.partition(" - ")
        point = left.split()[4].replace("\\040", " ")
        inside = point == "/" or place == point or place.startswith(point + "/")
        if inside and len(point) >= len(innermost):  # a later mount on the same point covers the earlier one
            innermost, kind = point, right.split()[0]
    return kind


def stage(parameters: Mapping[str, Any], broadcast: str = "") -> tuple[str, str]:
    """Return the folder of this node's copy, and whether it was ``unpacked`` or ``reused``.

    Parameters
    ----------
    broadcast : the archive on this node, if it was sent there; else the shared one is read.

    Raises
    ------
    Refused
        If no place can hold a copy; says why for each.
    """
    copy = existing(parameters)
    if copy:
        return copy, "reused"
    reasons = []
    for place in places(parameters):
        reason = unfit(place, parameters["needs"], parameters["network"], parameters["local"])
        if not reason:
            try:
                return _made(f"{place}/{parameters['folder']}", parameters, broadcast)
            except OSError as error:
                reason = f"{place}: {error.strerror}"
            except Refused as error:
                reason = str(error)
        reasons.append(reason)
    raise Refused("; ".join(dict.fromkeys(reasons)) or "no folder of this node is named")


def places(parameters: Mapping[str, Any]) -> list[str]:
    """Return the folders that may hold copies, without folders named by an unset variable."""
    words = parameters["places"]
    folders = [os.environ.get(word[1:], "") if word.startswith("$") else word for word in words]
    return list(dict.fromkeys(folder.rstrip("/") for folder in folders if folder.startswith("/")))


def existing(parameters: Mapping[str, Any]) -> str:
    """Return the folder of a complete copy; empty if there is none."""
    for place in places(parameters):
        root = f"{place}/{parameters['folder']}"
        try:
            if is_own(root) and _is_whole(f"{root}/{parameters['name']}", parameters["members"]):
                return f"{root}/{parameters['name']}"
        except Refused:
            continue
    return ""


def _is_complete(copy: str) -> bool:
    return os.path.exists(f"{copy}/{COMPLETE}")


def _is_whole(copy: str, members: int) -> bool:
    """Return whether a copy has all its files: systems remove old files from /tmp one by one."""
    return _is_complete(copy) and sum(len(files) for _, _, files in os.walk(copy)) == members + 1


def _made(root: str, parameters: Mapping[str, Any], broadcast: str) -> tuple[str, str]:
    """Make the copy, unless another process has made it while this one waited for the lock."""
    try:
        os.mkdir(root, 0o700)
    except FileExistsError:
        pass
    is_own(root)
    name = parameters["name"]
    copy, part = f"{root}/{name}", f"{root}/{name}.part"
    with Lock(f"{copy}.lock", parameters.get("patience", PATIENCE)):
        if _is_whole(copy, parameters["members"]):
            return copy, "reused"
        try:
            remove_tree(part)  # left by a process that was killed
            remove_tree(copy)
            _unpack_nearest(parameters, broadcast, part)
            os.rename(part, copy)
        except BaseException:
            remove_tree(part)
            os.unlink(f"{copy}.lock")
            _remove_if_empty(root)
            raise
        others = [file[:-5] for file in os.listdir(root) if file.endswith(".lock") and file != f"{name}.lock"]
        for other in others:
            _remove_copy(root, other)
    return copy, "unpacked"


def _unpack_nearest(parameters: Mapping[str, Any], broadcast: str, folder: str) -> None:
    """Unpack the archive that was sent to this node, or else the shared one."""
    if broadcast:
        try:
            status = os.lstat(broadcast)
            if status.st_uid == os.geteuid() and status.st_size == parameters["size"]:
                unpack(broadcast, folder, parameters["members"])
                return
        except (OSError, Refused):
            remove_tree(folder)
    unpack(parameters["archive"], folder, parameters["members"])


def unpack(archive: str, folder: str, members: int) -> None:
    """Unpack a tar archive of regular files, as `labkit.run.staging.archive` writes it, into a new folder.

    Raises
    ------
    Refused
        If it is cut short, or has another number of members.
    """
    os.mkdir(folder, 0o700)
    count, folders = 0, set()
    with open(archive, "rb") as source:
        while (header := source.read(BLOCK)).strip(b"\0"):
            parts = (header[345:500].rstrip(b"\0"), header[:100].rstrip(b"\0"))
            path = f"{folder}/{b'/'.join(filter(None, parts)).decode()}"
            size, mode = int(header[124:135], 8), int(header[100:107], 8)
            parent = os.path.dirname(path)
            if parent not in folders:
                os.makedirs(parent, 0o700, exist_ok=True)
                folders.add(parent)
            _write(source, path, size, mode)
            source.read(-size % BLOCK)
            count += 1
    if count != members:
        raise Refused(f"{archive} has {count} files, but must have {members}")
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


def remove(parameters: Mapping[str, Any]) -> list[str]:
    """Remove this node's copy, and return the folders of copies that stay because ranks use them."""
    in_use = []
    name = parameters["name"]
    for place in places(parameters):
        root = f"{place}/{parameters['folder']}"
        try:
            there = is_own(root) and os.path.exists(f"{root}/{name}.lock")
            if there and not _remove_copy(root, name, unused=0.0, patience=ENDING) and _is_complete(f"{root}/{name}"):
                in_use.append(f"{root}/{name}")
            _remove_if_empty(root)
        except (OSError, Refused):
            continue
    return in_use


def _remove_copy(root: str, name: str, *, unused: float = UNUSED, patience: float = 0.0) -> bool:
    """Remove a copy that nobody has used for this many s, and return whether it is gone.

    Parameters
    ----------
    patience : s to wait for processes that hold it.
    """
    copy = f"{root}/{name}"
    try:
        with Lock(f"{copy}.lock", patience):
            if _is_complete(copy):
                if unused and time.time() - os.stat(f"{copy}/{COMPLETE}").st_mtime < unused:
                    return False
                os.rename(copy, f"{copy}.part")  # no rank finds it from now on
            remove_tree(f"{copy}.part")
            os.unlink(f"{copy}.lock")
    except (OSError, Refused):
        return False
    return True


def _remove_if_empty(root: str) -> None:
    try:
        os.rmdir(root)
    except OSError:
        pass


def remove_tree(folder: str) -> None:
    """Remove a folder with everything in it, if it is there."""
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in files:
            os.unlink(f"{parent}/{name}")
        for name in folders:
            path = f"{parent}/{name}"
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    if os.path.isdir(folder):
        os.rmdir(folder)


def become_rank(arguments: Sequence[str], parameters: Mapping[str, Any]) -> None:
    """Become a rank of this node's copy, and make the copy if it is gone.

    If that fails, become a rank of the environment.
    """
    try:
        stage(parameters)
    except (OSError, Refused) as error:
        os.environ["LABKIT_STAGED"] = f"{NO_COPY}{os.uname().nodename}: {error}"
        os.execv(parameters["environment"][0], [*parameters["environment"], *arguments])
    os.environ["LABKIT_STAGED_AGAIN"] = "1"
    os.execv("/bin/sh", ["/bin/sh", parameters["rank"], *arguments])


def main(words: Sequence[str], parameters: Mapping[str, Any]) -> int:
    """Run the command in the first argument: ``stage [ARCHIVE]``, ``remove`` or ``rank ARGUMENT…``.

    Print a line for a result.
    """
    began, host = time.monotonic(), os.uname().nodename
    if words[0] == "rank":
        become_rank(words[1:], parameters)
    _raise_on_signals()
    if words[0] == "remove":
        for folder in remove(parameters):
            print(f"{FAILED}\t{host}\t{folder} is in use", flush=True)
        return 0
    broadcast = words[1] if len(words) > 1 else ""
    try:
        folder, how = stage(parameters, broadcast)
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


def _raise_on_signals() -> None:
    """Make signals raise, so that an unfinished copy is removed. The module `signal` would load a dozen others."""
    import _signal  # type: ignore[import-not-found]

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    for number in (1, 2, 15):
        _signal.signal(number, end)
