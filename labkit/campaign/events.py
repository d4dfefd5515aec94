"""What other processes must know of a campaign: `events.jsonl`, one JSON object a line, in the order of what happened.

Written by `labkit.campaign.folder.Folder.tell` alone, read by `Reader` alone. A line holds ``time`` (UTC, ISO 8601),
``kind`` and what `KINDS` names, and may hold more. A campaign may come from anybody: lines are bounded, and a line that
is no event is passed over and counted. Campaigns from before have none: `labkit.campaign.earlier` reads their log.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.campaign import earlier, reading
from labkit.errors import DataError
from labkit.samples import header

NAME = "events.jsonl"
LINE = 1 << 16  # B of a line, at most
# what an event of each kind must hold
KINDS: Mapping[str, Mapping[str, type]] = {
    "run": {"suite": str},
    "measuring": {"points": int, "total": int, "seed": int},
    "saved": {"file": str, "sha256": str},
    "imported": {"file": str, "sha256": str},
    "compacted": {"benchmark": str, "points": int},
    "retried": {"what": str, "reason": str},
    "failed": {"what": str, "reason": str},
    "skipped": {"what": str, "reason": str},
    "left_out": {"host": str, "reason": str},
    "notebook": {"name": str, "state": str},
    "heartbeat": {"done": int, "total": int, "label": str},
}
_WORDS = {
    "run": "run of {suite} begins",
    "measuring": "measuring {points} of {total} points, seed {seed}",
    "saved": "sha256:{sha256} saved {file}",
    "imported": "sha256:{sha256} imported {file}",
    "compacted": "compacted {benchmark}: {points} points in one file",
    "retried": "retrying {what} in a fresh start: {reason}",
    "failed": "failed {what}: {reason}",
    "skipped": "skipped {what}: {reason}",
    "left_out": "node {host} is excluded: {reason}",
}


@dataclass(frozen=True)
class Event:
    """Something that happened in a campaign.

    Parameters
    ----------
    kind : one of `KINDS`.
    facts : what it must hold, and more of some.
    time : UTC, ISO 8601.
    """

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    time: str = ""

    def __getitem__(self, name: str) -> Any:
        """A fact that its kind must hold."""
        return self.facts[name]

    @property
    def text(self) -> str:
        """The line of log.txt, for people; empty for a sign of life."""
        if self.kind == "notebook":
            return _notebook(self.facts)
        return _WORDS[self.kind].format(**self.facts) if self.kind in _WORDS else ""

    def line(self) -> bytes:
        """The line of `NAME`; the longest texts are cut where it would be too long."""
        held = {"time": self.time or datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": self.kind}
        most = LINE
        while len(line := json.dumps({**held, **_cut(self.facts, most)}).encode() + b"\n") > LINE:
            most //= 2
        return line


def _cut(value: Any, most: int) -> Any:
    """The same with texts and lists of at most so many characters and parts."""
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, Mapping):
        return {str(key): _cut(part, most) for key, part in value.items()}
    return [_cut(part, most) for part in value[:most]] if isinstance(value, list | tuple) else value


def _notebook(facts: Mapping[str, Any]) -> str:
    """What is said of a notebook."""
    state, seconds = facts["state"], facts.get("seconds")
    said = f"failed: {facts.get('error', '')}" if state == "failed" else state
    return f"notebook {facts['name']} {said}" + (f" after {seconds:.1f} s" if isinstance(seconds, int | float) else "")


def parsed(line: bytes) -> Event:
    """The event of a line.

    Raises
    ------
    ValueError
        If it is none.
    """
    if len(line) > LINE:
        raise ValueError(f"longer than {LINE:,} B")
    held = header.plain(line)
    kind, time = held.pop("kind", None), held.pop("time", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind {str(kind)[:40]!r}")
    if not isinstance(time, str) or len(time) > 40:
        raise ValueError(f"time {str(time)[:40]!r}")
    for name, wanted in KINDS[kind].items():
        value = held.get(name)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"{name}={str(value)[:40]!r} of {kind}")
    return Event(kind, held, time)


class Reader:
    """Reads the events of a campaign, each once.

    Parameters
    ----------
    folder : the campaign.

    Attributes
    ----------
    source : name of the file that they are from.
    damaged : numbers of lines that are no events.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._place, self._given, self._lines = folder, 0, 0, 0
        self.source, self.damaged = "", list[int]()

    def new(self) -> list[Event]:
        """Events since the last call.

        Raises
        ------
        DataError
            If what should hold them is no regular file, cannot be read, or is longer than labkit ever writes.
        """
        source = NAME if (self._folder / NAME).exists() or not (self._folder / earlier.LOG).exists() else earlier.LOG
        skip = 0
        if source != self.source:  # an earlier log was made events meanwhile: the first ones are known
            skip, self._place, self._lines, self.source, self.damaged = self._given, 0, 0, source, []
        *whole, _ = self._bytes(self._folder / source).split(b"\n")
        found = []
        for line in whole:
            self._place += len(line) + 1
            self._lines += 1
            if (event := self._event(line)) is not None:
                found.append(event)
        self._given += len(found) - skip
        return found[skip:]

    def _event(self, line: bytes) -> Event | None:
        if self.source == earlier.LOG:
            known = earlier.event(line.decode(errors="replace"))
            return Event(*known) if known else None
        try:
            return parsed(line)
        except ValueError:
            self.damaged.append(self._lines)
            return None

    def _bytes(self, path: Path) -> bytes:
        """What the file holds beyond what was read; bounded, and never waits for a pipe."""
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
                about = os.fstat(file.fileno())
                if not stat.S_ISREG(about.st_mode):
                    raise DataError(f"{path} is no regular file, but a campaign holds only regular files. Remove it.")
                if about.st_size > reading.LOG:
                    raise DataError(f"{path} is longer than {reading.LOG:,} B, which labkit never writes. Restore it.")
                file.seek(self._place)
                return file.read(reading.LOG)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}. Restore it, or make it readable.") from error


def read(folder: Path) -> list[Event]:
    """All events of a campaign so far.

    Raises
    ------
    DataError
        As `Reader.new` does.
    """
    return Reader(folder).new()


def converted(lines: Iterable[bytes]) -> bytes:
    """The lines of an earlier log as those of `NAME`."""
    known = (earlier.event(line.decode(errors="replace")) for line in lines)
    return b"".join(Event(*one).line() for one in known if one)
