"""Run commands inside the guest for the programs that connect to its serial ports. Standard library only.

Each port carries one command at a time: a nonce and a request come in, the nonce goes back, then frames of output,
and at last the exit status. When the other side disconnects, the agent ends the command and everything in its session.
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
from typing import TypedDict

HEAD = struct.Struct("<cI")
NONCE = 16
GRACE_S = 1.0


class Request(TypedDict):
    """A command to run: its words, its whole environment, and the folder to start in."""

    argv: list[str]
    env: dict[str, str]
    cwd: str


class Port:
    """One serial port: received bytes, outgoing bytes, and the command that it serves."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        # the kernel sends SIGIO when the other side connects or disconnects; poll() would return again and again
        fcntl.fcntl(self.fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) | os.O_ASYNC)
        self.received, self.outgoing = bytearray(), bytearray()
        self.process: subprocess.Popen[bytes] | None = None
        self.pipes: dict[int, bytes] = {}

    @property
    def connected(self) -> bool:
        """Whether the other side is connected."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def leave(self) -> None:
        """Clear the buffers and end the command, when the other side has disconnected."""
        self.received.clear()
        self.outgoing.clear()
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
        """Read what came in; start the command when its request is complete."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.fd, 65536):
                self.received += piece
        if len(self.received) < NONCE + HEAD.size:
            return
        _, size = HEAD.unpack_from(self.received, NONCE)
        if len(self.received) < NONCE + HEAD.size + size:
            return
        request = json.loads(self.received[NONCE + HEAD.size : NONCE + HEAD.size + size])
        self.outgoing += self.received[:NONCE]
        self.received.clear()
        self.end()
        self.start(request)

    def start(self, request: Request) -> None:
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
        """Queue a frame for the other side."""
        self.outgoing += HEAD.pack(kind, len(data)) + data

    def relay(self, fd: int) -> None:
        """Relay output of the command."""
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
        """Send the exit status when the command has ended and all its output is read."""
        if self.process is not None and self.process.poll() is not None:
            for fd in list(self.pipes):  # processes that it left in the background may keep the pipes open
                self.relay(fd)
            status = self.process.returncode
            self.send(b"X", str(status if status >= 0 else 128 - status).encode())
            self.end()

    def write(self) -> None:
        """Write as many outgoing bytes as the port accepts."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self.outgoing:
                del self.outgoing[: os.write(self.fd, self.outgoing[:32768])]


def session(session_number: int, signal_number: int) -> bool:
    """Signal every process of a session; return False if there is none."""
    alive = False
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                words = file.read().rpartition(b")")[2].split()
                if int(words[3]) == session_number and words[0] != b"Z":
                    alive = True
                    os.kill(int(name), signal_number)
    return alive


def ports(prefix: str) -> list[str]:
    """Return the paths of the serial ports whose names begin with a prefix."""
    paths = []
    for name in sorted(os.listdir("/sys/class/virtio-ports")):  # noqa: PTH208
        with open(f"/sys/class/virtio-ports/{name}/name") as file:  # noqa: PTH123
            if file.read().strip().startswith(prefix):
                paths.append(f"/dev/{name}")
    return paths


def main() -> int:
    """Serve all ports for ever."""
    wake, wake_end = os.pipe()
    for fd in (wake, wake_end):
        os.set_blocking(fd, False)
    for number in (signal.SIGIO, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
    served = [Port(path) for path in ports("labkit.")]
    connections = dict.fromkeys(served, False)
    while True:
        for port in served:
            connected = port.connected
            if connections[port] and not connected:
                port.leave()
            connections[port] = connected
            if connected:
                port.read()
                port.look()
                port.write()
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        owners = {}
        for port in served:
            if connections[port]:
                poll.register(port.fd, select.POLLIN | (select.POLLOUT if port.outgoing else 0))
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
