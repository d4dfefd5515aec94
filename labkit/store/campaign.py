"""A campaign: the folder with everything that runs produced. It can be moved, shared and read at any time.

campaign.json   identity, suite, versions, host
samples/<benchmark>/<fingerprint>-<launch>.parquet
samples/<benchmark>/compacted-<digest>.parquet   finished points, many in one file
starts/<digest>.json   what the points of one start of the ranks share: hosts, affinities, command, machine
notebooks/      executed
report/         staged copies and results; report-STYLE/ for each other style, report+B/ for a report with campaign B
events.jsonl    what other processes must know, the acknowledgement of each point among it
log.txt         one line for everything that happened, for people
lease.json      the campaign lock, while a run measures into it
"""

from __future__ import annotations

import fnmatch
import heapq
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.errors import DataError, LostError
from labkit.io import atomic, beneath, safe_read
from labkit.store import derived, lease, names, samples
from labkit.store.anchor import Anchor
from labkit.store.files import Files
from labkit.store.folder import Folder
from labkit.store.identity import identity_of as identity_of
from labkit.store.places import HOME, example, find, fresh, name_of, newest, root, titles, whole
from labkit.store.samples import Samples, compacted, start
from labkit.store.samples.start import Starts
from labkit.store.saving import Saving

FORMAT = 1
_OWN = ("campaign.json", "progress.json", "explorer.json")  # files that labkit writes, beside derived ones
_FOLDERS = ("samples", start.FOLDER, "jobs", "notebooks", "records")  # with files that it writes
__all__ = [
    "FORMAT",
    "HOME",
    "Campaign",
    "collected",
    "example",
    "find",
    "fresh",
    "name_of",
    "newest",
    "root",
    "titles",
    "whole",
]


class Campaign(Folder):
    """A campaign folder; created if it does not exist.

    Parameters
    ----------
    path : the folder.
    facts : written to campaign.json when the folder is new.

    Raises
    ------
    DataError
        If the folder's campaign.json is unreadable, of another format or without identity, or the folder cannot be
        made.
    """

    def __init__(self, path: str | Path, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(Path(path))
        lease.refresh(self.path)
        try:
            if not self._file.exists():
                if not safe_read.resolved(self.path).name:
                    raise DataError(
                        f"{self.path} is the root of the file system, not a campaign folder. Name another folder."
                    )
                self.begin({"format": FORMAT, "labkit": __version__}, facts or {})
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be created or written: {error.strerror}. {safe_read.remedy(error)}."
            ) from error
        known = self.facts
        if (version := known.get("format")) != FORMAT:
            raise DataError(
                f"{self._file} has format {version}, but this version of labkit reads {FORMAT}. Update labkit."
            )
        identity_of(known, self._file)

    @classmethod
    def existing(cls, path: str | Path, identity: str = "") -> Campaign:
        """Open a campaign that exists.

        Parameters
        ----------
        identity : identity that it must have; any if left out.

        Raises
        ------
        DataError
            If there is no campaign in the folder.
        LostError
            If it has another identity.
        """
        if not (Path(path) / "campaign.json").exists():
            if identity:
                raise LostError(
                    f"{path} is gone: someone moved or deleted the campaign during a run. Start the run again."
                )
            raise DataError(f"{path} is not a campaign: it has no campaign.json. Name a folder that has one.")
        campaign = cls(path)
        if identity and campaign.identity != identity:
            raise LostError(f"{path} is now another campaign: someone moved the one that the run used.")
        return campaign

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def bundled(self) -> bool:
        """Whether this is one of labkit's examples, which labkit never changes."""
        return derived.bundled(self.path)

    @property
    def derived(self) -> Path:
        """Folder for derived files: the campaign itself, or another folder if the campaign is not writable.

        Reports, notebooks executed for them, cached records and exports are in it. It need not exist yet.
        """
        return derived.folder(self.path, root())

    def file(self, benchmark: str, fingerprint: str, launch: int) -> Path:
        """Path of the samples of a point and launch."""
        return self.path / names.point(benchmark, fingerprint, launch)

    def benchmarks(self, like: str = "*") -> list[str]:
        """Return the benchmarks that have samples, all or those that match a pattern such as ``sockets.*``."""
        lease.refresh(self.path)
        try:
            return fnmatch.filter(safe_read.names(self.path / "samples", folders=True), like)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def done(self, like: str = "*") -> set[tuple[str, str, int]]:
        """Return benchmark, fingerprint and launch of every point; read names only.

        Parameters
        ----------
        like : name of a benchmark, or a pattern such as ``mpi.*``.
        """
        points = set[tuple[str, str, int]]()
        for benchmark in self.benchmarks(like):
            files = self.files(benchmark)
            points.update((benchmark, *name) for name in files.points)
            for path in files.compacted:
                points.update((benchmark, *name) for name in compacted.names(path))
        return points

    def files(self, benchmark: str) -> Files:
        """Return the files in the folder of a benchmark."""
        return Files.of(self.path / "samples" / benchmark)

    def save(self, point: Samples, fingerprint: str) -> Path:
        """Write a point with the record of its start, and acknowledge it in events.jsonl once it is on disk.

        Raises
        ------
        LostError
            If the campaign was moved or cannot be written; nothing was written elsewhere.
        """
        with self.saving() as saving:
            return saving.add(point, fingerprint)

    def saving(self) -> Saving:
        """Return a context manager that saves points in groups."""
        return Saving(self)

    @cached_property
    def starts(self) -> Starts:
        """Records of starts, which points refer to; each is read once."""
        return Starts(self.path)

    def samples(self, benchmark: str = "*", wanted: Collection[tuple[str, int]] | None = None) -> Iterator[Samples]:
        """Yield samples by benchmark, fingerprint and launch; each once, even if several files hold it.

        Parameters
        ----------
        benchmark : name, or a pattern such as ``mpi.*``.
        wanted : fingerprints and launches; all if left out.
        """
        for name in self.benchmarks(benchmark):
            for path, raw in self.files(name).read(wanted):
                yield samples.decode(raw, path, self.starts)

    def named(
        self, benchmark: str, known: Mapping[tuple[str, int], Samples] | None = None
    ) -> Iterator[tuple[str, Samples]]:
        """Yield samples of a benchmark with their fingerprints.

        Parameters
        ----------
        known : by fingerprint and launch; these are not read again.
        """
        known = known or {}
        names = {(fingerprint, launch) for _, fingerprint, launch in self.done(benchmark)}
        files = self.files(benchmark).named(names - known.keys()) if names - known.keys() else ()
        read = ((name, samples.decode(raw, path, self.starts)) for name, path, raw in files)
        for (fingerprint, _), point in heapq.merge(read, sorted(known.items()), key=lambda row: row[0]):
            yield fingerprint, point

    def compact(self, least: int = 1) -> dict[str, int]:
        """Put the finished points of every benchmark into one file; an interruption loses nothing.

        Parameters
        ----------
        least : benchmarks with fewer files are not changed.

        Returns
        -------
        Benchmark → number of its points, for each benchmark that was not compacted before.

        Raises
        ------
        DataError
            If a file is damaged. The message names it; nothing was deleted.
        LaunchError
            If a run measures into the campaign.
        """
        counts: dict[str, int] = {}
        with self.lease():
            for name in self.benchmarks():
                with beneath.folder(self.open_path, f"samples/{name}") as place:
                    files = Files.of(place)
                    if len(files.points) >= least and files.compactable():
                        counts[name] = files.compact()
                if name in counts:
                    self.tell("compacted", benchmark=name, points=counts[name])
        return counts

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Hold the campaign lock, so that no other run measures into it; notebook kernels of the holder share it.

        Raises
        ------
        LaunchError
            If another run holds it, and its heartbeats have not stopped.
        DataError
            If it is an example that comes with labkit, the folder cannot be written, or a file in it is a link.
        """
        if self.bundled:
            raise DataError(
                f"{self.path} is an example of labkit, and labkit never changes it. Copy it, and name the copy: "
                f"{shlex.join(('cp', '-r', str(self.path), f'{self.path.name}-copy'))}"
            )
        if self._anchor is None:
            self._refuse_links()
        with lease.hold(self.path):
            outer = self._anchor
            anchor = outer or Anchor(self.path)
            self._anchor = anchor
            try:
                if outer is None:
                    self._clear()
                yield
            finally:
                self._anchor = outer
                if outer is None:
                    anchor.close()

    def _refuse_links(self) -> None:
        """Refuse links where labkit will write, before a run begins; each write checks again."""
        for name in (*derived.WRITTEN, *_OWN, *_FOLDERS):
            beneath.refuse_links(self.path, name)
        for folder in _FOLDERS:
            if (self.path / folder).is_dir():
                beneath.refuse_links(self.path / folder)
        for name in self.benchmarks():
            beneath.refuse_links(self.path / "samples" / name)

    def _clear(self) -> None:
        """Remove unfinished files of processes that were killed."""
        for name in ("", *_FOLDERS, *(f"samples/{name}" for name in self.benchmarks())):
            with suppress(OSError), beneath.folder(self.open_path, name) as place:
                atomic.clear(place)

    def reading(self) -> AbstractContextManager[None]:
        """Hold the lock of the folder of derived files, also for a campaign that cannot be written.

        Raises
        ------
        LaunchError
            If another process holds it, or measures into the campaign.
        """
        self.derived.mkdir(parents=True, exist_ok=True)
        return lease.hold(self.derived)

    @property
    def in_use(self) -> bool:
        """Whether a run measures into the campaign."""
        return lease.holder(self.path) is not None


def collected(names: Sequence[str]) -> list[Campaign]:
    """Return the campaigns that names and folders of campaigns represent, each identity once.

    Raises
    ------
    DataError
        If a name represents none.
    """
    campaigns: dict[str, Campaign] = {}
    for name in names:
        folders = [folder for folder in (Path(name), root() / name) if folder.is_dir()]
        within = sorted(file.parent for folder in folders[:1] for file in folder.glob("*/campaign.json"))
        single = not folders or (folders[0] / "campaign.json").exists() or not within
        for path in [find(name)] if single else within:
            one = Campaign.existing(path)
            campaigns.setdefault(one.identity, one)
    return list(campaigns.values())
