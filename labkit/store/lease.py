"""The lease (campaign lock): a file that stops a second run, so that two runs do not disturb each other.

No data depends on it. A process takes the lease by making a link, which only one process can do, also on NFS, and keeps
it by heartbeats. Ages come from the file server's clock alone, so a living holder does not look dead if clocks differ
or jump. On the holder's own host, labkit looks for its process instead. A heartbeat replaces the file. On NFS, a read
at that moment may fail as stale (ESTALE); this says nothing about the holder.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeGuard

from labkit.errors import DataError, LaunchError
from labkit.io import atomic, safe_read
from labkit.store import reading

HEARTBEAT = 10.0  # s; a lease is stale after three missed ones
TRIES = 3  # to read a file that a heartbeat replaces
OWNER = "LABKIT_LEASE"  # in the environment of a process that shares the leases of another; see `shared`
NAME = "lease.json"


class Lease(TypedDict):
    """What the file of a lease holds.

    Parameters
    ----------
    token : names the lease.
    host, pid : the process that holds it.
    start : when it took the lease, ISO 8601.
    began : space of process numbers, and start of the process there.
    heartbeat : when it last said that it is alive, s since the epoch.
    """

    token: str
    host: str
    pid: str
    start: str
    began: NotRequired[Sequence[str]]
    heartbeat: NotRequired[float]


def holder(folder: Path) -> Lease | None:
    """Return the lease of the run that measures into a campaign; None without one, or after three missed heartbeats."""
    lease = _read(folder / NAME)
    return lease if lease and _alive(folder, lease) else None


_held: ContextVar[tuple[str, ...]] = ContextVar("leases", default=())  # by whatever called what runs now


def shared() -> dict[str, str]:
    """Return the environment with which a process starts that shares the leases held here."""
    return {OWNER: ",".join(_ours())}


def _ours() -> tuple[str, ...]:
    """Return the tokens of the leases held here, and by the process that shares its own with this one."""
    return (*_held.get(), *filter(None, os.environ.get(OWNER, "").split(",")))


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold the lease of a campaign; what runs meanwhile shares it, as does a process started with `shared`.

    Raises
    ------
    LaunchError
        If another process holds it, and its heartbeats have not stopped.
    """
    path = folder / NAME
    current = _read(path)
    if current and current["token"] in _ours():
        yield
        return
    mine: Lease = {
        "token": secrets.token_hex(8),
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "began": (_pid_space(), _begin_time(os.getpid())),
        "start": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    try:
        _take(path, mine)
    except OSError as error:
        raise DataError(f"{folder} is not writable: {error.strerror}. {safe_read.remedy(error)}.") from error
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(path, mine, ended, _node(folder)), daemon=True)
    beating.start()
    before = _held.set((*_held.get(), mine["token"]))
    try:
        yield
    finally:
        ended.set()
        beating.join()
        _held.reset(before)
        if _is_ours(path, mine):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _take(path: Path, mine: Lease) -> None:
    """Take the lease, or raise an error that names its holder."""
    for _ in range(3):
        current = _read(path)
        if current and _alive(path.parent, current):
            raise LaunchError(
                f"{path.parent} is in use: process {current['pid']} on {current['host']} has used it since "
                f"{current['start']}. Wait, end that process, or choose another campaign."
            )
        if path.exists():
            _put_away(path, current)
        if atomic.create(path, _text(mine)) or _is_ours(
            path, mine
        ):  # NFS 3 may repeat a request if the first answer is lost
            return
    raise LaunchError(f"{path} is locked by other runs again and again. Wait, or choose another campaign.")


def _put_away(path: Path, stale: Lease | None) -> None:
    """Remove a stale lease, unless another process has replaced it in the meantime."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    moved = _read(aside)
    if moved and (stale is None or moved["token"] != stale["token"]):
        with suppress(FileExistsError):
            os.link(aside, path)  # it was not the stale one: put it back
    aside.unlink(missing_ok=True)


def _read(path: Path) -> Lease | None:
    """Read a lease; None if there is none that is readable and valid."""
    lease: Any = None
    for _ in range(TRIES):
        refresh(path.parent)
        try:
            lease = json.loads(reading.text(path, 1 << 16))
        except OSError as error:
            if error.errno == errno.ESTALE:
                continue
        except (ValueError, RecursionError, DataError):
            pass
        break
    return lease if _valid(lease) else None


def _valid(lease: Any) -> TypeGuard[Lease]:
    """Return whether a lease has the form that labkit writes. Any other file is not a lease."""
    if not isinstance(lease, dict) or not all(isinstance(lease.get(name), str) for name in ("token", "host", "start")):
        return False
    began = lease.get("began", ["", ""])
    return (
        re.fullmatch(r"[0-9]{1,10}", str(lease.get("pid"))) is not None
        and isinstance(lease.get("heartbeat"), int | float)
        and isinstance(began, list)
        and len(began) == 2
    )


def refresh(folder: Path) -> None:
    """Make a network file system ask its server what is in a folder.

    Clients cache for up to a minute what they have seen, also that a file does not exist. They ask the server when a
    folder is opened.
    """
    with suppress(OSError):
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))


def _alive(folder: Path, lease: Lease) -> bool:
    """Return whether the holder is alive: its process on this system, elsewhere its heartbeats."""
    pid, began = int(lease["pid"]), [str(part) for part in lease.get("began", ("", ""))]
    pid_space, begin_time = began
    if pid_space == _pid_space():
        return _begin_time(pid) == begin_time
    if lease["host"] == socket.gethostname() and not pid_space and not _begin_time(pid):
        return False
    # a time far in the future was not set by a heartbeat: without the lower bound such a file would live for ever
    return abs(_age(folder, lease)) < 3 * HEARTBEAT


def _age(folder: Path, lease: Lease) -> float:
    """Return the time since the last heartbeat, s, by the file server's clock, or by ours in read-only folders."""
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


def _pid_space() -> str:
    """Return the scope in which process numbers are unique: the boot of the kernel, and the namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _begin_time(pid: int) -> str:
    """Return the start time of a process, which distinguishes it from a later one with the same number.

    Empty if it is gone.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _is_ours(path: Path, mine: Lease) -> bool:
    """Return whether the lease is still the one that this process took."""
    current = _read(path)
    return current is not None and current["token"] == mine["token"]


def _text(lease: Lease) -> str:
    return json.dumps({**lease, "heartbeat": time.time()})


def _node(folder: Path) -> tuple[int, int] | None:
    """Return device and inode of the folder at a path; None if there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _beat(path: Path, mine: Lease, ended: threading.Event, node: tuple[int, int] | None) -> None:
    """Write heartbeats until the end, until another process takes a stale lease, or until the folder is another one."""
    while not ended.wait(HEARTBEAT):
        if _node(path.parent) != node:
            return
        current = _read(path)
        if current and current["token"] != mine["token"]:
            return
        with suppress(OSError):  # a full disk: the next beat may come through
            if current:
                atomic.replace(path, _text(mine))
            else:  # removed by a process that found it stale, or moved for a moment
                atomic.create(path, _text(mine))
