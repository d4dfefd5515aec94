"""Run a command inside a guest and represent it here, with its output, signals and exit status.

Run by path, with the standard library alone, so that it starts fast::

    python -I -S _guest_exec.py FOLDER [NAME=VALUE…] -- COMMAND...

`labkit.testbeds._guest_agent` is the other side.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import IO

HEAD = struct.Struct("<cI")
NONCE = 16
WAIT_S = 30.0
_HOST_ONLY = ("TMPDIR", "LABKIT_TREE", "XDG_RUNTIME_DIR")  # not for the guest


def free_port(folder: str) -> tuple[IO[str], socket.socket]:
    """Connect to a port that nobody else uses; return the lock of the port, and the port."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208
            if name.startswith("port"):
                lock = open(f"{folder}/lock{name[4:]}")  # noqa: PTH123, SIM115
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    port = socket.socket(socket.AF_UNIX)
                    port.connect(f"{folder}/{name}")
                except OSError:
                    lock.close()
                    continue
                return lock, port
        time.sleep(0.05)
    raise TimeoutError


def request(argv: Sequence[str], variables: Sequence[str]) -> bytes:
    """Return the request to run a command, as the agent reads it."""
    env = {name: value for name, value in os.environ.items() if name not in _HOST_ONLY}
    env |= dict(pair.split("=", 1) for pair in variables)
    body = json.dumps({"argv": list(argv), "env": env, "cwd": os.getcwd()}).encode()  # noqa: PTH109
    return HEAD.pack(b"H", len(body)) + body


def main(arguments: Sequence[str]) -> int:
    """Relay until the command ends; return its exit status, or 125 if the guest does not answer."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    separator = arguments.index("--")
    try:
        lock, port = free_port(arguments[0])
    except (OSError, TimeoutError):
        os.write(2, b"the guest is gone, or too busy to run another command\n")
        return 125
    nonce = secrets.token_bytes(NONCE)
    port.sendall(nonce + request(arguments[separator + 1 :], arguments[1:separator]))
    received, begun = bytearray(), False
    with lock, port, contextlib.suppress(OSError):
        while piece := port.recv(65536):
            received += piece
            if not begun:  # data for an earlier user of the port
                position = received.find(nonce)
                begun = position >= 0
                del received[: position + NONCE if begun else max(len(received) - NONCE + 1, 0)]
            while begun and len(received) >= HEAD.size:
                kind, size = HEAD.unpack_from(received)
                if len(received) < HEAD.size + size:
                    break
                data = bytes(received[HEAD.size : HEAD.size + size])
                del received[: HEAD.size + size]
                if kind == b"X":
                    return int(data)
                write_all(1 if kind == b"O" else 2, data)
    os.write(2, b"the guest ended\n")
    return 125


def write_all(fd: int, data: bytes) -> None:
    """Write all data."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
