"""A campaign: the folder with everything one run of a suite produced. It can be moved, shared and read for ever.

campaign.json   suite, versions, host
samples/<benchmark>/<fingerprint>-<launch>.parquet
notebooks/      executed
report/         staged copies and results
log.txt         one line for everything that happened, the acknowledgement of each point among them
lease.json      while somebody measures into it
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import __version__, samples
from labkit.errors import DataError, LaunchError
from labkit.samples import Samples

FORMAT = 1
HEARTBEAT = 10.0  # s; a lease is stale after three missed ones
OWNER = "LABKIT_LEASE"
HOME = "LABKIT_CAMPAIGNS"


def root() -> Path:
    """Folder of all campaigns: $LABKIT_CAMPAIGNS, else data/campaigns of the checkout or of the working folder."""
    if os.environ.get(HOME):
        return Path(os.environ[HOME])
    checkout = Path(__file__).resolve().parent.parent
    base = checkout if (checkout / "pyproject.toml").exists() else Path.cwd()
    return base / "data" / "campaigns"


def find(name: str | Path) -> Path:
    """Folder of a campaign from its path or its name below `root`.

    Raises
    ------
    DataError
        If there is none; lists those there are.
    """
    for path in (Path(name), root() / name):
        if (path / "campaign.json").exists():
            return path
    names = sorted(str(p.parent.relative_to(root())) for p in root().glob("**/campaign.json"))
    raise DataError(
        f"There is no campaign {str(name)!r}. There are: {', '.join(names) or 'none yet; see labkit run --help'}."
    )


class Campaign:
    """A campaign folder, made when it is not there.

    Parameters
    ----------
    path : the folder.
    facts : written to campaign.json when the folder is new.

    Raises
    ------
    DataError
        If the folder's campaign.json is unreadable or of another format.
    """

    def __init__(self, path: str | Path, facts: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        self._file = self.path / "campaign.json"
        if not self._file.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            created = datetime.now(UTC).isoformat(timespec="seconds")
            self.update(
                {"format": FORMAT, "name": self.path.name, "created": created, "labkit": __version__, **(facts or {})}
            )
        if self.facts.get("format") != FORMAT:
            raise DataError(
                f"{self._file} has format {self.facts.get('format')}, but this labkit reads {FORMAT}. Update labkit."
            )

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def facts(self) -> dict[str, Any]:
        """What campaign.json holds."""
        try:
            held: dict[str, Any] = json.loads(self._file.read_text())
        except (OSError, json.JSONDecodeError) as error:
            raise DataError(
                f"{self._file} cannot be read: {error}. Restore it, or delete it to have a new one made."
            ) from error
        return held

    def update(self, facts: Mapping[str, Any]) -> None:
        """Add to campaign.json, by writing aside and renaming."""
        held = self.facts if self._file.exists() else {}
        aside = self._file.with_name(f".campaign.json.{os.getpid()}")
        aside.write_text(json.dumps(held | dict(facts), indent=1, sort_keys=True) + "\n")
        aside.rename(self._file)

    def log(self, text: str) -> None:
        """One line with the time, in one write."""
        line = f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {' '.join(text.split())}\n"
        with (self.path / "log.txt").open("ab", buffering=0) as file:
            file.write(line.encode())

    def file(self, benchmark: str, fingerprint: str, launch: int) -> Path:
        """Where the samples of a point and launch lie."""
        return self.path / "samples" / benchmark / f"{fingerprint}-{launch}.parquet"

    def done(self) -> set[tuple[str, str, int]]:
        """Benchmark, fingerprint and launch of every point that is there; reads names only."""
        pattern = re.compile(r"([0-9a-f]{16})-(\d+)\.parquet")
        found = ((p.parent.name, pattern.fullmatch(p.name)) for p in (self.path / "samples").glob("*/*.parquet"))
        return {(benchmark, m[1], int(m[2])) for benchmark, m in found if m}

    def save(self, point: Samples, fingerprint: str) -> Path:
        """Keep a point; it is acknowledged in log.txt once it is on disk."""
        path = self.file(point.spec.benchmark, fingerprint, point.launch)
        samples.save(point, path)
        self.log(f"saved {path.relative_to(self.path)}")
        return path

    def samples(self, benchmark: str = "*") -> Iterator[Samples]:
        """All samples, of one benchmark or of all, in the order of their names."""
        for path in sorted((self.path / "samples").glob(f"{benchmark}/[!.]*.parquet")):
            yield samples.load(path)

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Tell others that somebody measures here; a child of the holder may share it.

        Raises
        ------
        LaunchError
            If somebody else holds it and gave a sign of life lately.
        """
        path = self.path / "lease.json"
        held = _read(path)
        if held and held.get("token") == os.environ.get(OWNER):
            yield
            return
        if held and _alive(held):
            raise LaunchError(
                f"{self.path} is in use: process {held['pid']} on {held['host']} measures into it "
                f"since {held['start']}. "
                f"Wait for it, end it, or choose another campaign."
            )
        mine = {
            "token": secrets.token_hex(8),
            "host": socket.gethostname(),
            "pid": str(os.getpid()),
            "start": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        ended, before = threading.Event(), os.environ.get(OWNER)
        _beat(path, mine)
        beating = threading.Thread(target=_beats, args=(path, mine, ended), daemon=True)
        beating.start()
        os.environ[OWNER] = mine["token"]
        try:
            yield
        finally:
            ended.set()
            beating.join()
            if before is None:
                os.environ.pop(OWNER, None)
            else:
                os.environ[OWNER] = before
            path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    """A lease, or None where there is none that can be read."""
    try:
        held: dict[str, Any] = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError):
        return None
    return held if {"pid", "host", "start", "heartbeat"} <= set(held) else None


def _alive(lease: Mapping[str, Any]) -> bool:
    """Whether the holder of a lease gave a sign of life within three heartbeats, and, on this host, still is."""
    if lease["host"] == socket.gethostname() and not Path(f"/proc/{lease['pid']}").exists():
        return False
    return time.time() - float(lease["heartbeat"]) < 3 * HEARTBEAT


def _beat(path: Path, lease: Mapping[str, Any]) -> None:
    """Write the lease anew, by renaming."""
    aside = path.with_name(f".lease.json.{os.getpid()}")
    aside.write_text(json.dumps({**lease, "heartbeat": time.time()}))
    aside.rename(path)


def _beats(path: Path, lease: Mapping[str, Any], ended: threading.Event) -> None:
    """Signs of life until the end."""
    while not ended.wait(HEARTBEAT):
        _beat(path, lease)
