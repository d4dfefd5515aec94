"""The campaign lock: a file that tells a second run to stop, so that two runs do not disturb each other.

It is taken by making a link, which one process alone can do, on NFS too, and is kept by heartbeats. Ages are taken from
one clock, that of the file server, so that clocks that differ or jump do not make a living holder look dead; on the
holder's own host the process itself is looked for. A heartbeat replaces the file: on NFS, whoever reads it in that
moment may be told that it is stale (ESTALE), which says nothing of the holder.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import writing
from labkit.campaign import reading
from labkit.errors import DataError, LaunchError

HEARTBEAT = 10.0  # s; a campaign lock is stale after three missed ones
TRIES = 3  # to read a file that is replaced meanwhile
OWNER = "LABKIT_LEASE"
NAME = "lease.json"


def holder(folder: Path) -> dict[str, Any] | None:
    """Who measures into a campaign; None where nobody does, or has given no sign of life within three heartbeats."""
    held = _read(folder / NAME)
    return held if held and _alive(folder, held) else None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the campaign lock; a child of the holder shares it.

    Raises
    ------
    LaunchError
        If somebody else holds it and gave a sign of life lately.
    """
    path, before = folder / NAME, os.environ.get(OWNER)
    there = _read(path)
    if there and before and there["token"] == before:
        yield
        return
    mine: dict[str, Any] = {
        "token": secrets.token_hex(8),
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "began": (_place(), _tick(os.getpid())),
        "start": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    try:
        _take(path, mine)
    except OSError as error:
        raise DataError(
            f"{folder} is not writable: {error.strerror}. Make it writable, or choose another campaign."
        ) from error
    ended = threading.Event()
    beating = threading.Thread(target=_beats, args=(path, mine, ended, _node(folder)), daemon=True)
    beating.start()
    os.environ[OWNER] = mine["token"]
    try:
        yield
    finally:
        ended.set()
        beating.join()
        if before is None:
            os.environ.pop(OWNER, None)
        else:
            os.environ[OWNER] = before
        if _ours(path, mine):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _take(path: Path, mine: Mapping[str, Any]) -> None:
    """Take the campaign lock, or raise an error that names its holder."""
    for _ in range(3):
        there = _read(path)
        if there and _alive(path.parent, there):
            raise LaunchError(
                f"{path.parent} is in use: process {there['pid']} on {there['host']} has used it since "
                f"{there['start']}. Wait, end that process, or choose another campaign."
            )
        if path.exists():
            _put_away(path, there)
        if writing.create(path, _text(mine)) or _ours(path, mine):  # NFS 3 may ask twice, if the first answer is lost
            return
    raise LaunchError(f"{path} is locked by other runs again and again. Wait, or choose another campaign.")


def _put_away(path: Path, stale: Mapping[str, Any] | None) -> None:
    """Remove a stale campaign lock, unless another run has replaced it in the meantime."""
    apart = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.rename(apart)
    except FileNotFoundError:
        return
    found = _read(apart)
    if found and found["token"] != (stale or {}).get("token"):
        with suppress(FileExistsError):
            os.link(apart, path)  # it was not the stale one: put it back
    apart.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    """Return the content of a campaign lock; None if there is none that can be read."""
    found: Any = None
    for _ in range(TRIES):
        fresh(path.parent)
        try:
            found = json.loads(reading.text(path, 1 << 16))
        except OSError as error:
            if error.errno == errno.ESTALE:
                continue
        except (ValueError, RecursionError, DataError):
            pass
        break
    return found if _sound(found) else None


def _sound(found: Any) -> bool:
    """Whether a campaign lock has the form that labkit writes; a foreign file in another form counts as none."""
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in ("token", "host", "start")):
        return False
    began = found.get("began", ["", ""])
    return (
        re.fullmatch(r"[0-9]{1,10}", str(found.get("pid"))) is not None
        and isinstance(found.get("heartbeat"), int | float)
        and isinstance(began, list)
        and len(began) == 2
    )


def fresh(folder: Path) -> None:
    """Have a network file system ask its server what is in a folder.

    Clients believe for up to a minute what they have seen, also that a file is not there; but they ask when a folder is
    opened.
    """
    with suppress(OSError):
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))


def _alive(folder: Path, lease: Mapping[str, Any]) -> bool:
    """Whether the holder of a lock still runs on this system, or else gave a sign of life within three heartbeats."""
    pid, began = int(lease["pid"]), [str(part) for part in lease.get("began", ("", ""))]
    place, tick = began
    if place == _place():
        return _tick(pid) == tick
    if lease["host"] == socket.gethostname() and not place and not _tick(pid):
        return False
    # a time far in the future was not set by a heartbeat: without the lower bound such a file would live for ever
    return abs(_age(folder, lease)) < 3 * HEARTBEAT


def _age(folder: Path, lease: Mapping[str, Any]) -> float:
    """Time since the last heartbeat, s, by the clock of the file server; by ours where nothing can be written."""
    probe = folder / f".{NAME}.{secrets.token_hex(8)}"
    try:
        probe.touch()
        now = probe.stat().st_mtime
    except OSError:
        return time.time() - float(lease["heartbeat"])
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    for _ in range(TRIES):
        try:
            return now - (folder / NAME).stat().st_mtime
        except FileNotFoundError:
            return float("inf")
        except OSError:
            continue
    return 0.0  # replaced again and again


def _place() -> str:
    """What process numbers belong to: a boot of a kernel, and a namespace in it."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _tick(pid: int) -> str:
    """When a process began, so that its number is not taken for that of a later one; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _ours(path: Path, mine: Mapping[str, Any]) -> bool:
    """Whether the campaign lock is still the one we took."""
    there = _read(path)
    return there is not None and there["token"] == mine["token"]


def _text(lease: Mapping[str, Any]) -> str:
    return json.dumps({**lease, "heartbeat": time.time()})


def _node(folder: Path) -> tuple[int, int] | None:
    """Which folder a name leads to."""
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _beats(path: Path, mine: Mapping[str, Any], ended: threading.Event, node: tuple[int, int] | None) -> None:
    """Write heartbeats until the end, until another run took a stale campaign lock, or until the folder is replaced."""
    while not ended.wait(HEARTBEAT):
        if _node(path.parent) != node:
            return
        there = _read(path)
        if there and there["token"] != mine["token"]:
            return
        with suppress(OSError):  # a full disk: the next beat may come through
            if there:
                writing.replace(path, _text(mine))
            else:  # put away by somebody who thought it stale, or for a moment
                writing.create(path, _text(mine))
