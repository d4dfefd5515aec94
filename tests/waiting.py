"""Waiting for what other processes and threads do: on a condition, within a limit for a loaded machine."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

Found = TypeVar("Found")
PATIENCE = 240.0  # s; a bound for a busy machine, not a speed


def until(holds: Callable[[], Found], seconds: float = PATIENCE, *, runs: Any = None, each: float = 0.02) -> Found:
    """Wait until a condition holds, and return what it gave.

    Parameters
    ----------
    holds : asked again and again.
    runs : process that may not end before; a Popen, or a tree of `labkit.io.supervise`.
    each : s between two questions.
    """
    end = time.monotonic() + seconds
    while True:
        status = None if runs is None else runs.poll()
        if found := holds():
            return found
        assert status is None, f"it ended with {status}: {getattr(runs, 'stderr_tail', str)()}"
        assert time.monotonic() < end, f"not within {seconds:.0f} s"
        time.sleep(each)


def answers(url: str) -> bool:
    """Return whether a server answers; while it does not listen yet, it does not."""
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True


def listens(path: Path | str) -> bool:
    """Return whether a program listens on a Unix socket, which is there before."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(path)) == 0


def commandline(pid: int) -> str:
    """Return the words of a process; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def marked(mark: str) -> list[int]:
    """Return the processes that a test with the fixture `mark` started, and that still run."""
    pids = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("LABKIT_TEST") == mark:
                pids.append(process.pid)
    return pids


def jupyter(runtime: Path, server: Any, seconds: float = PATIENCE) -> str:
    """Wait for a server of Jupyter, and return its address. It writes its record before it listens.

    Parameters
    ----------
    runtime : its JUPYTER_RUNTIME_DIR.
    server : its process or tree.
    """

    def address() -> str:
        for path in runtime.glob("jpserver-*.json"):
            with suppress(ValueError):  # half written
                url = str(json.loads(path.read_text())["url"])
                return url if answers(f"{url}api") else ""
        return ""

    return until(address, seconds, runs=server, each=0.1)
