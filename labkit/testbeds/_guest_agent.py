"""Runs commands inside the guest for whoever connects to one of its serial ports. Standard library only.

Each port carries one command at a time: a nonce and a request come in, the nonce comes back, then frames of output,
and at last the exit status. When the other side goes away, the command and everything in its session are ended.
`labkit.testbeds._guest_exec` is the other side.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from typing import Any

HEAD = struct.Struct("<cI")
NONCE = 16
GRACE_S = 1.0


class Port:
    """One serial port: what came in, what is to go out, and the command that it serves."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        # the kernel says with SIGIO that the other side has come or gone: poll() would only turn in circles
        fcntl.fcntl(self.fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) | os.O_ASYNC)
        self.came, self.out = bytearray(), bytearray()
        self.process: subprocess.Popen[bytes] | None = None
        self.pipes: dict[int, bytes] = {}

    @property
    def connected(self) -> bool:
        """Whether somebody is at the other side."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def leave(self) -> None:
        """The other side is gone: forget what was said, end what was run for it."""
        self.came.clear()
        self.out.clear()
        self.end()

    def end(self) -> None:
        """End the command with its session."""
        for fd in self.pipes:
            os.close(fd)
        self.pipes.clear()
        process, self.process = self.process, None
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            end = time.monotonic() + GRACE_S
            while session(process.pid, number) and time.monotonic() < end:
                process.poll()
                time.sleep(0.02)
        process.poll()

    def read(self) -> None:
        """What came in; starts the command when its request is whole."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.fd, 65536):
                self.came += piece
        if len(self.came) < NONCE + HEAD.size:
            return
        _, size = HEAD.unpack_from(self.came, NONCE)
        if len(self.came) < NONCE + HEAD.size + size:
            return
        request = json.loads(self.came[NONCE + HEAD.size : NONCE + HEAD.size + size])
        self.out += self.came[:NONCE]
        self.came.clear()
        self.end()
        self.start(request)

    def start(self, request: dict[str, Any]) -> None:
        """Run a command; its output goes to the port."""
        folder = request["cwd"] if os.path.isdir(request["cwd"]) else "/"  # noqa: PTH112
        try:
            self.process = subprocess.Popen(
                request["argv"],
                env=request["env"],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self.send(b"E", f"{request['argv'][0]}: {error.strerror}\n".encode())
            self.send(b"X", b"127")
            return
        for kind, pipe in ((b"O", self.process.stdout), (b"E", self.process.stderr)):
            fd = os.dup(pipe.fileno())  # type: ignore[union-attr]
            os.set_blocking(fd, False)
            pipe.close()  # type: ignore[union-attr]
            self.pipes[fd] = kind

    def send(self, kind: bytes, data: bytes) -> None:
        """A frame for the other side."""
        self.out += HEAD.pack(kind, len(data)) + data

    def relay(self, fd: int) -> None:
        """Output of the command."""
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        if data:
            self.send(self.pipes[fd], data)
            return
        del self.pipes[fd]
        os.close(fd)

    def look(self) -> None:
        """Tell the exit status once the command has ended and all its output is read."""
        if self.process is not None and self.process.poll() is not None:
            for fd in list(self.pipes):  # what it left in the background may hold the pipes for ever
                self.relay(fd)
            status = self.process.returncode
            self.send(b"X", str(status if status >= 0 else 128 - status).encode())
            self.end()

    def write(self) -> None:
        """As much of what is to go out as the port takes."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self.out:
                del self.out[: os.write(self.fd, self.out[:32768])]


def session(number: int, told: int) -> bool:
    """Signal every process of a session; False when there is none left."""
    found = False
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                words = file.read().rpartition(b")")[2].split()
                if int(words[3]) == number and words[0] != b"Z":
                    found = True
                    os.kill(int(name), told)
    return found


def ports(prefix: str) -> list[str]:
    """Paths of the serial ports that were made for this."""
    found = []
    for name in sorted(os.listdir("/sys/class/virtio-ports")):  # noqa: PTH208
        with open(f"/sys/class/virtio-ports/{name}/name") as file:  # noqa: PTH123
            if file.read().strip().startswith(prefix):
                found.append(f"/dev/{name}")
    return found


def main() -> int:
    """Serve all ports for ever."""
    wake, wake_end = os.pipe()
    for fd in (wake, wake_end):
        os.set_blocking(fd, False)
    for number in (signal.SIGIO, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
    held = [Port(path) for path in ports("labkit.")]
    here = dict.fromkeys(held, False)
    while True:
        for port in held:
            connected = port.connected
            if here[port] and not connected:
                port.leave()
            here[port] = connected
            if connected:
                port.read()
                port.look()
                port.write()
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        owners = {}
        for port in held:
            if here[port]:
                poll.register(port.fd, select.POLLIN | (select.POLLOUT if port.out else 0))
                for fd in port.pipes:
                    poll.register(fd, select.POLLIN)
                    owners[fd] = port
        for fd, _ in poll.poll():
            if fd == wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake, 4096)
            elif fd in owners and fd in owners[fd].pipes:
                owners[fd].relay(fd)


if __name__ == "__main__":
    sys.exit(main())
