"""The folder of a campaign and its small files. Every write checks that nobody has moved the folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.io import atomic, beneath, safe_read
from labkit.io.atomic import Content
from labkit.store import events, identity, reading
from labkit.store.anchor import Anchor, unwritable


class Folder:
    """A campaign's folder.

    Parameters
    ----------
    path : path of the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._file = path, path / "campaign.json"
        self._anchor: Anchor | None = None
        self._telling = False

    def begin(self, usual: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Create the folder and its campaign.json. If two processes do so at once, one succeeds."""
        with safe_read.about(ascii(str(self.path))):
            str(self.path).encode()  # its name goes into texts and notebooks
        existed = self.path.is_dir()
        self._refuse_folder_of_campaigns()
        self.path.mkdir(parents=True, exist_ok=True)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        given = {"name": self.path.absolute().name, "created": created}
        content = _json({**usual, **given, **facts, identity.KEY: identity.new()})
        try:
            atomic.create(self._file, content, durable=True)
        except BaseException:
            with suppress(OSError):
                if not existed:
                    self.path.rmdir()  # an empty folder would block a later campaign
            raise

    def _refuse_folder_of_campaigns(self) -> None:
        """Refuse a folder that holds campaigns: they would become part of the new one."""
        with suppress(OSError):
            inner = sorted(one.parent.name for one in self.path.glob("*/campaign.json"))
            if inner:
                raise DataError(
                    f"{self.path} holds campaigns ({', '.join(inner[:3])}{', …' * (len(inner) > 3)}), so it cannot "
                    f"become one itself. Name a folder in it, such as {self.path / 'today'}."
                )

    @property
    def facts(self) -> dict[str, Any]:
        """Content of campaign.json."""
        try:
            facts = reading.table(self.open_path / "campaign.json")
        except (OSError, DataError) as error:
            self.check()
            message = str(error).replace(str(self.open_path), str(self.path))
            raise DataError(
                f"{self._file} cannot be read: {message} Restore it, or delete it; labkit then creates a new one."
            ) from error
        return reading.checked(facts, self._file)

    @property
    def identity(self) -> str:
        """UUID that stays the same when the folder is renamed, copied or archived."""
        return identity.identity_of(self.facts, self._file)

    @property
    def open_path(self) -> Path:
        """The folder to write to; during a measurement the open one, whatever its name is now."""
        return self._anchor.path if self._anchor else self.path

    def check(self) -> None:
        """Check that the folder is still the one that this process measures into, if it does.

        Raises
        ------
        LostError
            If it was moved, replaced or deleted.
        """
        if self._anchor:
            self._anchor.check()

    @contextmanager
    def writing(self, *, begun: bool = False) -> Iterator[None]:
        """Turn errors of writing into one `LostError`.

        Parameters
        ----------
        begun : whether the folder was the right one when the writing began; a move since then does no harm.
        """
        if not begun:
            self.check()
        try:
            yield
        except OSError as error:
            self.check()
            raise unwritable(self.path, error, self._anchor.saved if self._anchor else 0) from error

    def put(self, name: str, text: Content, *, durable: bool = False) -> None:
        """Write a small file of the campaign, whole; `durable` as of `writing.replace`.

        Raises
        ------
        LostError
            If it cannot be written.
        DataError
            If it is a link.
        """
        with self.writing():
            beneath.put(self.open_path, name, text, durable=durable)

    def drop(self, name: str) -> None:
        """Remove a file of the campaign, if it is there."""
        with self.writing():
            beneath.drop(self.open_path, name)

    def update(self, facts: Mapping[str, Any]) -> None:
        """Add facts to campaign.json."""
        self.put("campaign.json", _json(self.facts | dict(facts)), durable=True)

    def log(self, text: str) -> None:
        """Write a line with the time to the log, for people; no program reads it."""
        with self.writing():
            self._lines([text])

    def tell(self, kind: str, **facts: Any) -> None:
        """Write an event for other processes, and its line of the log for people.

        Parameters
        ----------
        kind : kind of `labkit.store.events.KINDS`.
        facts : the keys of an event of that kind.
        """
        with self.writing():
            self.acknowledge([events.Event(kind, facts)])

    def acknowledge(self, happened: Sequence[events.Event]) -> None:
        """Write events, and their lines of the log, to the open folder, even if it was moved."""
        path = self.open_path / events.NAME
        if not self._telling or not path.exists():
            self._begin_events(path)
        self._telling = False  # a line that is cut off, as on a full disk, must not have another behind it
        beneath.append(self.open_path, events.NAME, b"".join(event.line() for event in happened))
        self._telling = True
        self._lines([event.text for event in happened if event.text])
        if self._anchor:
            self._anchor.saved += sum(event.kind == "saved" for event in happened)

    def _begin_events(self, path: Path) -> None:
        """Prepare the file of events for a line."""
        if not path.exists():
            atomic.create(path, "")
        elif not reading.ends_a_line(path):  # the last writer was interrupted
            beneath.append(self.open_path, events.NAME, b"\n")

    def _lines(self, texts: Sequence[str]) -> None:
        """Write lines of the log to the open folder, even if it was moved."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = "".join(f"{now} {' '.join(text.split())}\n" for text in texts)
        if lines:
            beneath.append(self.open_path, events.LOG, lines.encode(errors="replace"))


def _json(facts: Mapping[str, Any]) -> str:
    return json.dumps(dict(facts), indent=1, sort_keys=True) + "\n"
