"""The owner's side of a tree: it reads what the tree says on standard error, and takes leave of its supervisor."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
from pathlib import Path

from labkit.supervise import leftovers, supervisor

MARK = "LABKIT_TREE"  # in the environment of all that is started
_HEAD_B, _TAIL_B = 16 * 1024, 64 * 1024


def marked(mark: str) -> list[int]:
    """All processes that were started with this mark in their environment."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for pid in supervisor.processes():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


class Watcher(threading.Thread):
    """Keeps beginning and end of stderr, waits for the supervisor. Knows no `Tree`, for that may be forgotten."""

    def __init__(self, process: subprocess.Popen[bytes], report: int, grace: float, mark: str) -> None:
        super().__init__(name="labkit-supervise", daemon=True)
        self.ended = threading.Event()
        self.status: int | None = None
        self.left: list[int] = []
        self.head = self.tail = b""
        self.told = 0  # B on stderr
        self.grace = grace
        self.note = leftovers.Note(mark)
        self._process, self._report, self._mark = process, report, mark

    def run(self) -> None:
        """Read until supervisor and reaper are both gone, and then what is left of stderr."""
        stderr = self._process.stderr.fileno() if self._process.stderr else -1
        poll, said = select.poll(), b""
        reading = {fd for fd in (self._report, stderr) if fd >= 0}
        for fd in reading:
            poll.register(fd, select.POLLIN)
        while self._report in reading or (reading and poll.poll(200)):
            for fd, _ in poll.poll():
                data = os.read(fd, _TAIL_B)
                if not data:
                    poll.unregister(fd)
                    reading.discard(fd)
                elif fd == stderr:
                    self.told += len(data)
                    self.head += data[: _HEAD_B - len(self.head)]
                    self.tail = (self.tail + data)[-_TAIL_B:]
                else:
                    said += data
        self._finish([int(word) for word in said.split()])

    def _finish(self, said: list[int]) -> None:
        """Take leave of the supervisor: the command's status, and what could not be ended."""
        os.close(self._report)
        if self._process.stderr:
            self._process.stderr.close()
        self._process.wait()
        if said:
            self.status, *self.left = said
        else:
            self.note.left |= leftovers.left_by(marked(self._mark))
            self.left = supervisor.end(lambda: marked(self._mark), lambda: bool(marked(self._mark)), self.grace)
            self.status = 137
        if not self.left:
            self.note.close()
        self.ended.set()
