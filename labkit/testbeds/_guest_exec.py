"""Runs a command inside a guest and becomes it, as far as output, signals and exit status go.

Run by path, with nothing but the standard library, so that it starts fast::

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
_OWN = ("TMPDIR", "LABKIT_TREE", "XDG_RUNTIME_DIR")  # make no sense inside


def free(folder: str) -> tuple[IO[str], socket.socket]:
    """A port that nobody else uses, with the lock that keeps it so."""
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


def request(argv: Sequence[str], more: Sequence[str]) -> bytes:
    """What is to be run, as the agent reads it."""
    env = {name: value for name, value in os.environ.items() if name not in _OWN}
    env |= dict(pair.split("=", 1) for pair in more)
    body = json.dumps({"argv": list(argv), "env": env, "cwd": os.getcwd()}).encode()  # noqa: PTH109
    return HEAD.pack(b"H", len(body)) + body


def main(arguments: Sequence[str]) -> int:
    """Relay until the command ends; its exit status, or 125 if the guest does not answer."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    cut = arguments.index("--")
    try:
        lock, port = free(arguments[0])
    except (OSError, TimeoutError):
        os.write(2, b"the guest is gone, or too busy to run another command\n")
        return 125
    nonce = secrets.token_bytes(NONCE)
    port.sendall(nonce + request(arguments[cut + 1 :], arguments[1:cut]))
    held, begun = bytearray(), False
    with lock, port, contextlib.suppress(OSError):
        while piece := port.recv(65536):
            held += piece
            if not begun:  # what was meant for whoever had the port before
                at = held.find(nonce)
                begun = at >= 0
                del held[: at + NONCE if begun else max(len(held) - NONCE + 1, 0)]
            while begun and len(held) >= HEAD.size:
                kind, size = HEAD.unpack_from(held)
                if len(held) < HEAD.size + size:
                    break
                data = bytes(held[HEAD.size : HEAD.size + size])
                del held[: HEAD.size + size]
                if kind == b"X":
                    return int(data)
                put(1 if kind == b"O" else 2, data)
    os.write(2, b"the guest ended\n")
    return 125


def put(fd: int, data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
