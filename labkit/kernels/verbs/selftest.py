"""Try every operation between two devices, and check the bytes.

``python -I selftest.py DEVICE DEVICE [SIZE…]`` prints a JSON object: operation → ``ok`` or what went wrong.
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
    sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from labkit.kernels.verbs.ends import End
from labkit.kernels.verbs.meeting import Meeting
from labkit.kernels.verbs.objects import Device
from labkit.kernels.verbs.plan import Plan

SIZES = (1, 8, 4096, 65536)


def check(devices: Sequence[str], sizes: Sequence[int] = SIZES) -> dict[str, str]:
    """Try every operation between two devices, or between a device and itself.

    Returns
    -------
    Operation, such as ``write RC 8`` → ``ok`` or the error.
    """
    results: dict[str, str] = {}
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
                    results[f"{operation} {connection} {size}"] = _verified(devices, plan)
    for operation in ("fetch_and_add", "compare_and_swap"):
        results[operation] = _verified(devices, Plan(program="latency", operation=operation, size=8))
    for operation, size in (
        ("send", 64),
        ("write", 64),
        ("write_with_immediate", 64),
        ("read", 64),
        ("fetch_and_add", 8),
    ):
        plan = Plan(program="latency", operation=operation, size=size, buffers_in_turn=20)
        results[f"{operation} RC from buffers in turn"] = _verified(devices, plan)
    reused = Plan(program="latency", size=64, buffers_in_turn=4, reuse=50)
    results["send RC from a buffer used again"] = _verified(devices, reused)
    for connection in ("RC", "UD"):
        plan = Plan(program="latency", connection=connection, size=64, srq=True)
        results[f"send {connection} into shared receives"] = _verified(devices, plan)
    results["send RC with events"] = _verified(devices, Plan(program="latency", completion="event", size=64))
    results["send RC inline"] = _verified(devices, Plan(program="latency", inline=64, size=64))
    return results


def _verified(devices: Sequence[str], plan: Plan) -> str:
    """Verify one plan. The server is a forked child, because waiting for events blocks all other threads."""
    port, (reading, writing) = _port(), os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)
        os.write(writing, _end(lambda: Meeting(port, limit=20), devices[-1], plan, server=True).encode())
        os._exit(0)
    os.close(writing)
    client = _end(lambda: Meeting(port, "127.0.0.1", limit=20), devices[0], plan, server=False)
    with os.fdopen(reading) as file:
        server = file.read()
    os.waitpid(child, 0)
    return "; ".join(filter(None, [client, server])) or "ok"


def _end(meet: Callable[[], Any], name: str, plan: Plan, *, server: bool) -> str:
    """Verify at one end; return what went wrong, or an empty text."""
    try:
        with meet() as meeting, Device(name) as device:
            End(device, plan, meeting, server=server).verify()
    except Exception as error:
        return f"{'server' if server else 'client'}: {type(error).__name__}: {error}"
    return ""


def _port() -> int:
    """Find a free port."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    faulthandler.dump_traceback_later(240, exit=True)
    words = sys.argv[1:]
    devices = [word for word in words if not word.isdecimal()]
    outcome = check(devices, [int(word) for word in words if word.isdecimal()] or SIZES)
    sys.stdout.write(json.dumps(outcome, indent=1) + "\n")
    sys.exit(any(text != "ok" for text in outcome.values()))
