"""A campaign: the folder with everything one run of a suite produced. It can be moved, shared and read for ever.

campaign.json   suite, versions, host
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
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import __version__, samples
from labkit.campaign import derived, lease
from labkit.campaign.files import Files
from labkit.errors import DataError
from labkit.samples import Samples, compacted

FORMAT = 1
HOME = "LABKIT_CAMPAIGNS"


def root() -> Path:
    """Folder of all campaigns: $LABKIT_CAMPAIGNS, else data/campaigns of the checkout or of the working folder."""
    if os.environ.get(HOME):
        return Path(os.environ[HOME])
    checkout = Path(__file__).resolve().parent.parent.parent
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
        lease.fresh(self.path)
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
    def bundled(self) -> bool:
        """Whether this is one of the examples that come with labkit, which stay as they are."""
        return derived.bundled(self.path)

    @property
    def derived(self) -> Path:
        """Folder for what is made from the campaign: the campaign itself, or another where nothing may be written here.

        Reports, notebooks executed for them, kept records and exports lie there. It need not exist yet.
        """
        return derived.folder(self.path, root())

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

    def benchmarks(self, like: str = "*") -> list[str]:
        """Benchmarks that have samples here, those of a name or of a pattern such as ``sockets.*``."""
        lease.fresh(self.path)
        try:
            names = sorted(entry.name for entry in os.scandir(self.path / "samples") if entry.is_dir())
            return fnmatch.filter(names, like)
        except FileNotFoundError:
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
        """Keep a point; it is acknowledged in log.txt once it is on disk."""
        path = self.file(point.spec.benchmark, fingerprint, point.launch)
        samples.save(point, path)
        self.log(f"sha256:{compacted.digest(path)} saved {path.relative_to(self.path)}")
        return path

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

    def lease(self) -> AbstractContextManager[None]:
        """Tell others that somebody measures here; a child of the holder may share it.

        Raises
        ------
        LaunchError
            If somebody else holds it and gave a sign of life lately.
        DataError
            If it is an example that comes with labkit.
        """
        if self.bundled:
            raise DataError(
                f"{self.path} is an example that comes with labkit and stays as it is. Name another campaign with "
                "--into, or copy the folder and use the copy."
            )
        return lease.held(self.path)

    def reading(self) -> AbstractContextManager[None]:
        """Tell others that somebody writes derived files; also for a campaign that stays as it is.

        Raises
        ------
        LaunchError
            If somebody else does, or measures into the campaign.
        """
        self.derived.mkdir(parents=True, exist_ok=True)
        return lease.held(self.derived)

    @property
    def in_use(self) -> bool:
        """Whether somebody measures here."""
        return lease.holder(self.path) is not None
