"""The events of a campaign for other processes: `events.jsonl`, one JSON object per line, in the order of time.

Only `labkit.store.folder.Folder.tell` writes this file, and only `Reader` reads it. A line holds ``time`` (UTC, ISO
8601), ``kind``, the keys that `KINDS` names, and may hold more. A campaign may come from anybody, so the length of a
line is limited, and labkit skips and counts lines that are not events.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.store import reading
from labkit.store.samples import header

NAME = "events.jsonl"
LOG = "log.txt"  # the same events and more, for people; no program reads it
LINE = 1 << 16  # B of a line, at most
# keys that an event of each kind must have
KINDS: Mapping[str, Mapping[str, type]] = {
    "run": {"suite": str},
    "measuring": {"points": int, "total": int, "seed": int},
    "session": {"number": int, "sessions": int, "start": str},
    "waiting": {"text": str, "until": str},
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
    "measuring": "measuring {points} of {total} points × launches, seed {seed}",
    "session": "session {number} of {sessions} begins",
    "waiting": "{text}",
    "saved": "sha256:{sha256} saved {file}",
    "imported": "sha256:{sha256} imported {file}",
    "compacted": "compacted {benchmark}: {points} points × launches in one file",
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
    facts : the keys that its kind must have, and others.
    time : UTC, ISO 8601.
    """

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    time: str = ""

    def __getitem__(self, name: str) -> Any:
        """Return a fact that its kind must have."""
        return self.facts[name]

    @property
    def text(self) -> str:
        """The line of log.txt, for people; empty for a heartbeat."""
        if self.kind == "notebook":
            return _notebook(self.facts)
        return _WORDS.get(self.kind, "").format(**self.facts)

    def line(self) -> bytes:
        """Return the line of `NAME`; cut the longest texts if it would be too long."""
        head = {"time": self.time or datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": self.kind}
        limit = LINE
        while len(line := json.dumps({**head, **_cut(self.facts, limit)}).encode() + b"\n") > LINE:
            limit //= 2
        return line


def _cut(value: Any, limit: int) -> Any:
    """Cut texts to at most `limit` characters and lists to at most `limit` items."""
    if isinstance(value, str):
        return value[:limit]
    if isinstance(value, Mapping):
        return {str(key): _cut(part, limit) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(part, limit) for part in value[:limit]]
    return value


def _notebook(facts: Mapping[str, Any]) -> str:
    """Return the line of the log for an event of a notebook."""
    state, seconds = facts["state"], facts.get("seconds")
    outcome = f"failed: {facts.get('error', '')}" if state == "failed" else state
    duration = ""
    if isinstance(seconds, int | float):
        duration = f" after {seconds:.1f} s"
    return f"notebook {facts['name']} {outcome}{duration}"


def parsed(line: bytes) -> Event:
    """Parse a line as an event.

    Raises
    ------
    ValueError
        If it is not one.
    """
    if len(line) > LINE:
        raise ValueError(f"longer than {LINE:,} B")
    facts = header.plain(line)
    kind, time = facts.pop("kind", None), facts.pop("time", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind {str(kind)[:40]!r}")
    if not isinstance(time, str) or len(time) > 40:
        raise ValueError(f"time {str(time)[:40]!r}")
    for name, wanted in KINDS[kind].items():
        value = facts.get(name)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"{name}={str(value)[:40]!r} of {kind}")
    return Event(kind, facts, time)


class Reader:
    """Reads the events of a campaign, each once.

    Parameters
    ----------
    folder : the campaign.
    kinds : kinds of events that are returned (default: all); lines that name none of them are not parsed.

    Attributes
    ----------
    damaged : numbers of lines that are not events.
    """

    def __init__(self, folder: Path, *kinds: str) -> None:
        self._words = [json.dumps(kind).encode() for kind in kinds]
        self._path, self._offset, self._lines = folder / NAME, 0, 0
        self.damaged = list[int]()

    def new(self) -> list[Event]:
        """Return the events since the last call.

        Raises
        ------
        DataError
            If the file is not a regular file, cannot be read, or is longer than labkit ever writes.
        """
        *lines, _ = self._bytes(self._path).split(b"\n")
        events = []
        for line in lines:
            self._offset += len(line) + 1
            self._lines += 1
            if (event := self._event(line)) is not None:
                events.append(event)
        return events

    def _event(self, line: bytes) -> Event | None:
        if self._words and not any(word in line for word in self._words):
            return None
        try:
            return parsed(line)
        except ValueError:
            self.damaged.append(self._lines)
            return None

    def _bytes(self, path: Path) -> bytes:
        """Read the rest of the file; bound its size, and never wait for a pipe."""
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise DataError(
                        f"{path} is not a regular file, but a campaign holds only regular files. Remove it."
                    )
                if status.st_size > reading.EVENTS:
                    raise DataError(
                        f"{path} is longer than {reading.EVENTS:,} B, which labkit never writes. Restore it."
                    )
                file.seek(self._offset)
                return file.read(reading.EVENTS)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}. Restore it, or make it readable.") from error


def read(folder: Path, *kinds: str) -> list[Event]:
    """Return all events of a campaign so far.

    Parameters
    ----------
    kinds : kinds of the events (default: all).

    Raises
    ------
    DataError
        As `Reader.new` does.
    """
    found = Reader(folder, *kinds).new()
    return [event for event in found if event.kind in kinds] if kinds else found


def unmeasured(folder: Path, done: Collection[tuple[str, str, int]]) -> Iterator[Event]:
    """Yield what failed or was skipped, and what no later run measured.

    Parameters
    ----------
    done : benchmark, fingerprint and launch of every point of the campaign.

    Raises
    ------
    DataError
        As `Reader.new` does.
    """
    measured = {tuple(map(str, point)) for point in done}
    for event in read(folder, "failed", "skipped"):
        if tuple(str(event.facts.get(name)) for name in ("benchmark", "fingerprint", "launch")) not in measured:
            yield event
