"""Every operation between two devices, with its bytes checked.

``python -I selftest.py DEVICE DEVICE [SIZE…]`` prints a JSON object: what was tried → ``ok`` or what went wrong.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from labkit.verbs.ends import End
from labkit.verbs.meeting import Meeting
from labkit.verbs.objects import Device
from labkit.verbs.plan import Plan

SIZES = (1, 8, 4096, 65536)


def check(devices: Sequence[str], sizes: Sequence[int] = SIZES) -> dict[str, str]:
    """Run everything between two devices (or one with itself).

    Returns
    -------
    What was tried, such as ``write RC 8``, with ``ok`` or the error.
    """
    found: dict[str, str] = {}
    for size in sizes:
        for operation in ("send", "write", "write_with_immediate", "read"):
            for connection in ("RC", "UC", "UD"):
                usable = (
                    operation == "send"
                    or (operation == "read" and connection == "RC")
                    or (operation.startswith("write") and connection != "UD")
                )
                if usable and not (connection == "UD" and size > 1024):
                    plan = Plan(program="latency", operation=operation, connection=connection, size=size)
                    found[f"{operation} {connection} {size}"] = _tried(devices, plan)
    for operation in ("fetch_and_add", "compare_and_swap"):
        found[operation] = _tried(devices, Plan(program="latency", operation=operation, size=8))
    found["send RC with events"] = _tried(devices, Plan(program="latency", completion="event", size=64))
    found["send RC inline"] = _tried(devices, Plan(program="latency", inline=64, size=64))
    return found


def _tried(devices: Sequence[str], plan: Plan) -> str:
    """One verification; the server is a forked child, for a wait for events lets no other thread run."""
    port, (told, tell) = _port(), os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)
        os.write(tell, _end(lambda: Meeting(port, limit=20), devices[-1], plan, server=True).encode())
        os._exit(0)
    os.close(tell)
    mine = _end(lambda: Meeting(port, "127.0.0.1", limit=20), devices[0], plan, server=False)
    with os.fdopen(told) as file:
        theirs = file.read()
    os.waitpid(child, 0)
    return "; ".join(filter(None, [mine, theirs])) or "ok"


def _end(meet: Callable[[], Any], name: str, plan: Plan, *, server: bool) -> str:
    """Verify at one end; what went wrong, or nothing."""
    try:
        with meet() as meeting, Device(name) as device:
            End(device, plan, meeting, server=server).verify()
    except Exception as error:
        return f"{'server' if server else 'client'}: {type(error).__name__}: {error}"
    return ""


def _port() -> int:
    """A port that is free now."""
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    faulthandler.dump_traceback_later(240, exit=True)
    words = sys.argv[1:]
    devices = [word for word in words if not word.isdigit()]
    outcome = check(devices, [int(word) for word in words if word.isdigit()] or SIZES)
    sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
    sys.exit(any(text != "ok" for text in outcome.values()))
