"""Testbeds that stay up: each has a daemon process, and a note in a folder of this user."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import LaunchError
from labkit.io import atomic, folders

_UP_S = 180.0  # until a testbed must be up
# daemons that this process has started: one of the process, because it alone can wait for its children, and a testbed
# is known to other processes, and to other parts of this one, by nothing but its number
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Kept:
    """A testbed that a separate process keeps up.

    Parameters
    ----------
    text : its description.
    pid, started : process number of the daemon, and its start (clock ticks since boot).
    until : time at which it ends by itself, s since the epoch.
    handle : argument of ``attach``.
    """

    text: str
    pid: int
    started: int
    until: float
    handle: Mapping[str, Any]

    @property
    def alive(self) -> bool:
        """Whether this process still runs; another one may have its number."""
        return self.started == started(self.pid)


def started(pid: int) -> int:
    """Return the start of a process, in clock ticks since boot; 0 if there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 0


def up() -> list[Kept]:
    """Return the testbeds that this user keeps up; remove the notes of those that ended."""
    running = []
    for path in sorted(folders.runtime().glob("testbed-*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            kept = Kept(**json.loads(path.read_text()))
            if kept.alive:
                running.append(kept)
            else:
                path.unlink(missing_ok=True)
    return running


def start_keeper(text: str, lifetime: float) -> Kept:
    """Start the daemon of a testbed, and wait until the testbed is up.

    Raises
    ------
    LaunchError
        If it does not come up; with the output of the daemon.
    """
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "labkit.testbeds", text, str(lifetime)]
        daemon = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        end = time.monotonic() + _UP_S
        try:
            while daemon.poll() is None and time.monotonic() < end:
                kept = next((one for one in up() if one.pid == daemon.pid), None)
                if kept is not None:
                    _children[daemon.pid] = daemon
                    return kept
                time.sleep(0.05)
        except BaseException:
            daemon.terminate()
            daemon.wait()
            raise
        status = daemon.poll()
        daemon.terminate()
        daemon.wait()
        output.seek(0)
        text_of_daemon = output.read().decode(errors="replace").strip()
    raise LaunchError(f"The testbed {text} did not start. {text_of_daemon}", exit_status=status)


def take_down(kept: Kept, *, timeout: float = 30.0) -> None:
    """End a testbed that is up, and wait until it is gone.

    Raises
    ------
    LaunchError
        If its daemon does not go.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(kept.pid, signal.SIGTERM)
    end = time.monotonic() + timeout
    while kept.alive and time.monotonic() < end:
        if kept.pid in _children:
            _children[kept.pid].poll()  # our own child remains a zombie until poll()
        time.sleep(0.02)
    _children.pop(kept.pid, None)
    if kept.alive:
        raise LaunchError(f"The daemon of {kept.text}, process {kept.pid}, does not stop. Kill it by hand.")


@contextlib.contextmanager
def noted(text: str, lifetime: float, handle: Mapping[str, Any]) -> Iterator[Kept]:
    """Note a testbed as up for as long as the context lasts. Its daemon calls this."""
    pid = os.getpid()
    kept = Kept(text, pid, started(pid), time.time() + lifetime, handle)
    path = folders.runtime() / f"testbed-{pid}.json"
    atomic.replace(path, json.dumps(kept.__dict__))
    try:
        yield kept
    finally:
        path.unlink(missing_ok=True)
