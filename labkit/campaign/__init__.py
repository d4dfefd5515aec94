"""A campaign: the folder with everything one run of a suite produced. It can be moved, shared and read for ever.

campaign.json   identity, suite, versions, host
samples/<benchmark>/<fingerprint>-<launch>.parquet
samples/<benchmark>/compacted-<digest>.parquet   finished points, many in one file
notebooks/      executed
report/         staged copies and results
log.txt         one line for everything that happened, the acknowledgement of each point among them
lease.json      while somebody measures into it
"""

from __future__ import annotations

import fnmatch
import json
import os
import secrets
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import __version__, samples
from labkit.campaign import identity, lease, names, reading
from labkit.campaign.anchor import Anchor, unwritable
from labkit.campaign.files import Files
from labkit.campaign.places import HOME, find, fresh, root
from labkit.errors import DataError, LostError
from labkit.samples import Samples, compacted

FORMAT = 1
__all__ = ["FORMAT", "HOME", "Campaign", "find", "fresh", "root"]


class Campaign:
    """A campaign folder, made when it is not there.

    Parameters
    ----------
    path : the folder.
    facts : written to campaign.json when the folder is new.

    Raises
    ------
    DataError
        If the folder's campaign.json is unreadable or of another format, or the folder cannot be made.
    """

    def __init__(self, path: str | Path, facts: Mapping[str, Any] | None = None) -> None:
        self.path = Path(path)
        self._file = self.path / "campaign.json"
        self._anchor: Anchor | None = None
        lease.fresh(self.path)
        try:
            if not self._file.exists():
                self._begin(facts or {})
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be made or written: {error.strerror}. Name another folder, or make it writable."
            ) from error
        if (told := self.facts.get("format")) != FORMAT:
            raise DataError(f"{self._file} has format {told}, but this labkit reads {FORMAT}. Update labkit.")

    def _begin(self, facts: Mapping[str, Any]) -> None:
        """Make the folder and its campaign.json; of two processes that do so at once, one makes it."""
        self.path.mkdir(parents=True, exist_ok=True)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        usual = {"format": FORMAT, "name": self.path.absolute().name, "created": created, "labkit": __version__}
        aside = self.path / f".campaign.json.{os.getpid()}-{secrets.token_hex(4)}"
        try:
            aside.write_text(_json({**usual, **facts, identity.KEY: identity.new()}))
            with suppress(FileExistsError):
                os.link(aside, self._file)
        finally:
            aside.unlink(missing_ok=True)

    @classmethod
    def existing(cls, path: str | Path, wanted: str = "") -> Campaign:
        """A campaign that is there already.

        Parameters
        ----------
        wanted : its identity; any when left out.

        Raises
        ------
        DataError
            If there is no campaign in the folder.
        LostError
            If it is another one.
        """
        if not (Path(path) / "campaign.json").exists():
            if wanted:
                raise LostError(f"{path} is gone: the campaign was moved or deleted while a run measured into it.")
            raise DataError(f"{path} is no campaign: it has no campaign.json. Name the folder that has one.")
        held = cls(path)
        if wanted and held.identity != wanted:
            raise LostError(f"{path} is another campaign now: the one that a run measured into was moved.")
        return held

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def facts(self) -> dict[str, Any]:
        """What campaign.json holds."""
        try:
            return reading.checked(reading.table(self._place / "campaign.json"), self._file)
        except (OSError, DataError) as error:
            self.check()
            said = str(error).replace(str(self._place), str(self.path))
            raise DataError(
                f"{self._file} cannot be read: {said} Restore it, or delete it to have a new one made."
            ) from error

    @property
    def identity(self) -> str:
        """UUID that stays the same when the folder is renamed, copied or archived."""
        return identity.of(self.facts, self._place)

    @property
    def _place(self) -> Path:
        """The folder to write to: while measuring the open one, whatever its name."""
        return self._anchor.place if self._anchor else self.path

    def check(self) -> None:
        """See that the folder is still the one that is measured into; nothing when nobody does.

        Raises
        ------
        LostError
            If it was moved, replaced or deleted.
        """
        if self._anchor:
            self._anchor.check()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turns what cannot be written into one error."""
        self.check()
        try:
            yield
        except OSError as error:
            self.check()
            raise unwritable(self.path, error, self._anchor.saved if self._anchor else 0) from error

    def put(self, name: str, text: str) -> None:
        """Write a small file of the campaign, by writing aside and renaming.

        Raises
        ------
        LostError
            If it cannot be written.
        """
        aside = self._place / f".{name}.{os.getpid()}-{threading.get_ident()}"
        with self.writing():
            try:
                aside.write_text(text)
                aside.rename(self._place / name)
            finally:
                with suppress(OSError):
                    aside.unlink(missing_ok=True)

    def update(self, facts: Mapping[str, Any]) -> None:
        """Add to campaign.json."""
        self.put("campaign.json", _json(self.facts | dict(facts)))

    def log(self, text: str) -> None:
        """One line with the time, in one write."""
        line = f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {' '.join(text.split())}\n"
        with self.writing(), (self._place / "log.txt").open("ab", buffering=0) as file:
            file.write(line.encode(errors="replace"))

    def file(self, benchmark: str, fingerprint: str, launch: int) -> Path:
        """Where the samples of a point and launch lie."""
        return self.path / names.point(benchmark, fingerprint, launch)

    def benchmarks(self, like: str = "*") -> list[str]:
        """Benchmarks that have samples here, those of a name or of a pattern such as ``sockets.*``."""
        lease.fresh(self.path)
        try:
            names = sorted(entry.name for entry in os.scandir(self.path / "samples") if entry.is_dir())
            return fnmatch.filter(names, like)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def done(self, like: str = "*") -> set[tuple[str, str, int]]:
        """Benchmark, fingerprint and launch of every point that is there; reads names only.

        Parameters
        ----------
        like : name of a benchmark, or a pattern such as ``mpi.*``.
        """
        found = {(benchmark, *name) for benchmark in self.benchmarks(like) for name in self.files(benchmark).points}
        for benchmark in self.benchmarks(like):
            for path in self.files(benchmark).compacted:
                found.update((benchmark, *name) for name in compacted.names(path))
        return found

    def files(self, benchmark: str) -> Files:
        """What lies in the folder of a benchmark."""
        return Files.of(self.path / "samples" / benchmark)

    def save(self, point: Samples, fingerprint: str) -> Path:
        """Keep a point; it is acknowledged in log.txt once it is on disk.

        Raises
        ------
        LostError
            If the campaign was moved or cannot be written; nothing was written elsewhere.
        """
        name = names.point(point.spec.benchmark, fingerprint, point.launch)
        with self.writing():
            path = names.inside(self._place, name)
            samples.save(point, path)
            self.log(f"sha256:{compacted.digest(path)} saved {name}")
        if self._anchor:
            self._anchor.saved += 1
        return self.path / name

    def samples(self, benchmark: str = "*", wanted: Collection[tuple[str, int]] | None = None) -> Iterator[Samples]:
        """Samples by benchmark, fingerprint and launch; each once, however often it is kept.

        Parameters
        ----------
        benchmark : name, or a pattern such as ``mpi.*``.
        wanted : fingerprints and launches; all when left out.
        """
        for name in self.benchmarks(benchmark):
            for path, raw in self.files(name).read(wanted):
                yield samples.understood(raw, path)

    def named(self, benchmark: str) -> Iterator[tuple[str, Samples]]:
        """Samples of a benchmark with their fingerprints."""
        for name, path, raw in self.files(benchmark).named():
            yield name[0], samples.understood(raw, path)

    def compact(self, least: int = 1) -> dict[str, int]:
        """Put the finished points of every benchmark into one file; nothing is lost if this ends in the middle.

        Parameters
        ----------
        least : benchmarks with fewer files are left as they are.

        Returns
        -------
        Benchmark → points that are compacted now, of those where any were not before.

        Raises
        ------
        DataError
            If a file is damaged; it is named, and nothing was deleted.
        LaunchError
            If somebody measures into the campaign.
        """
        done: dict[str, int] = {}
        with self.lease():
            for name in self.benchmarks():
                files = self.files(name)
                if len(files.points) >= least and files.compactable():
                    done[name] = files.compact()
                    self.log(f"compacted {name}: {done[name]} points in one file")
        return done

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Tell others that somebody measures here; a child of the holder may share it.

        Raises
        ------
        LaunchError
            If somebody else holds it and gave a sign of life lately.
        DataError
            If the folder cannot be written.
        """
        with lease.held(self.path):
            before = self._anchor
            mine = before or Anchor(self.path)
            self._anchor = mine
            try:
                yield
            finally:
                self._anchor = before
                if before is None:
                    mine.close()

    @property
    def in_use(self) -> bool:
        """Whether somebody measures here."""
        return lease.holder(self.path) is not None


def _json(facts: Mapping[str, Any]) -> str:
    return json.dumps(dict(facts), indent=1, sort_keys=True) + "\n"
