"""Saves points in groups: one wait for the disk for many files, and one line each in the events and the log.

A point is acknowledged in `events.jsonl` when its file is on the disk under its name, and not before. Until then it is
a hidden file beside that name, which no reader looks at. If the writer is killed, the next run measures it again.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from labkit.errors import LabkitError
from labkit.io import atomic, beneath
from labkit.store import names, samples
from labkit.store.events import Event
from labkit.store.folder import Folder
from labkit.store.samples import Samples, start

MOST = 64  # points of a group
LONGEST = 0.2  # s that a point waits to be acknowledged


@dataclass(frozen=True)
class _Written:
    """A point whose file is written, but may not be on the disk yet."""

    name: str
    temporary: Path
    path: Path
    sha256: str


class Saving:
    """Writes points into a campaign; a context manager, which acknowledges the last group at its end.

    Parameters
    ----------
    campaign : campaign to write to.
    """

    def __init__(self, campaign: Folder) -> None:
        self._campaign, self._written = campaign, list[_Written]()
        self._since = 0.0
        self._folders = dict[str, Path]()  # of benchmarks, open while the group is written
        self._starts = set[str]()  # records on the disk
        self._stack = ExitStack()  # removes temporary files, closes folders

    def add(self, point: Samples, fingerprint: str) -> Path:
        """Write a point; acknowledge the group if it is full or old.

        Raises
        ------
        LostError
            If the campaign was moved or cannot be written; nothing was written elsewhere.
        """
        campaign = self._campaign
        name = names.point(point.spec.benchmark, fingerprint, point.launch)
        with campaign.writing():
            self._keep(point)
            path = self._folder(point.spec.benchmark) / Path(name).name
            content = samples.encoded(point)
            temporary = self._stack.enter_context(atomic.aside(path))
            with temporary.open("xb") as file:
                file.write(content)
            self._written.append(_Written(name, temporary, path, hashlib.sha256(content).hexdigest()[:16]))
        if len(self._written) == 1:
            self._since = time.monotonic()
        if self.remaining is not None and (len(self._written) >= MOST or self.remaining <= 0):
            self.flush()
        return campaign.path / name

    def _folder(self, benchmark: str) -> Path:
        """Open the folder of a benchmark without following links; it stays the right one if it is moved meanwhile."""
        if benchmark not in self._folders:
            place = beneath.folder(self._campaign.open_path, f"samples/{benchmark}", make=True)
            self._folders[benchmark] = self._stack.enter_context(place)
        return self._folders[benchmark]

    def _keep(self, point: Samples) -> None:
        """Have the record of the point's start on the disk, before any point that refers to it."""
        record = point.start
        if record is None or record.digest in self._starts or not record.content:
            return
        name = names.start(record.digest)
        if start.Starts(self._campaign.open_path).get(record.digest).problem:
            beneath.put(self._campaign.open_path, name, record.content, durable=True)
            atomic.settle(self._campaign.open_path)
        self._starts.add(record.digest)

    @property
    def remaining(self) -> float | None:
        """Time until the oldest point of the group must be acknowledged, s; None without one."""
        return self._since + LONGEST - time.monotonic() if self._written else None

    def flush(self) -> None:
        """Wait until all points are on the disk, and acknowledge them.

        Raises
        ------
        LostError
            If the campaign cannot be written.
        """
        group, self._written, self._folders = self._written, [], {}
        stack = self._stack.pop_all()
        with stack, self._campaign.writing(begun=True):
            if group:
                atomic.move_all([(one.temporary, one.path) for one in group])
                self._campaign.acknowledge([Event("saved", {"file": one.name, "sha256": one.sha256}) for one in group])

    def __enter__(self) -> Saving:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is None:
                self.flush()
            else:  # the points are good; the error tells more than one of writing
                with suppress(LabkitError):
                    self.flush()
