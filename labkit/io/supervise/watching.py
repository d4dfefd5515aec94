"""The owner's side of a tree: reads its standard error, and waits for its supervisor."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import threading
from pathlib import Path

from labkit.io.supervise import leftovers, supervisor

MARK = "LABKIT_TREE"  # in the environment of every process of a tree
_HEAD_B, _TAIL_B = 16 * 1024, 64 * 1024


def marked(mark: str) -> list[int]:
    """Return all processes with this mark in their environment."""
    pids, wanted = [], f"{MARK}={mark}".encode()
    for pid in supervisor.processes():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                pids.append(pid)
    return pids


class Watcher(threading.Thread):
    """Keeps beginning and end of stderr, and waits for the supervisor. It has no reference to the `Tree`."""

    def __init__(self, process: subprocess.Popen[bytes], report: int, grace: float, mark: str) -> None:
        super().__init__(name="labkit-supervise", daemon=True)
        self.ended = threading.Event()
        self.status: int | None = None
        self.survivors: list[int] = []
        self.head = self.tail = b""
        self.stderr_size = 0  # B on stderr
        self.grace = grace
        self.note = leftovers.Note(mark)
        self._process, self._report, self._mark = process, report, mark

    def run(self) -> None:
        """Read until supervisor and reaper have both ended, then the rest of stderr."""
        stderr = self._process.stderr.fileno() if self._process.stderr else -1
        poll, report = select.poll(), b""
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
                    self.stderr_size += len(data)
                    self.head += data[: _HEAD_B - len(self.head)]
                    self.tail = (self.tail + data)[-_TAIL_B:]
                else:
                    report += data
        self._finish([int(word) for word in report.split()])

    def _finish(self, report: list[int]) -> None:
        """Set the command's status and the processes that could not be ended; end the tree if nobody reported."""
        os.close(self._report)
        if self._process.stderr:
            self._process.stderr.close()
        self._process.wait()
        if report:
            self.status, *self.survivors = report
        else:
            self.note.leftovers |= leftovers.left_by(marked(self._mark))
            self.survivors = supervisor.end(lambda: marked(self._mark), lambda: bool(marked(self._mark)), self.grace)
            self.status = 137
        if not self.survivors:
            self.note.close()
        self.ended.set()
