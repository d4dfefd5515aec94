"""Collects imported points in compacted files beside the campaign, and moves them there when all texts are read."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from labkit.errors import DataError
from labkit.io import atomic, beneath, safe_read, scratch
from labkit.run.importing.known import Known
from labkit.store.campaign import Campaign
from labkit.store.samples import compacted
from labkit.store.samples.patterned import Points

BEGINS = ".labkit-import-"
NOTEBOOK = "95-imported"  # that the report executes for a campaign with imported points
PORTION, TOGETHER = 16 << 20, 48 << 20  # B of points in memory, of a benchmark and of all, before they are written


class Staging:
    """A folder for points until all texts are read. Leaving it without `publish` leaves nothing behind.

    Parameters
    ----------
    into : folder of the campaign, which need not exist.
    known : points that the campaign has; gives new points their launches.
    """

    def __init__(self, into: Path, known: Known) -> None:
        self._into, self._known = into, known
        self._points: dict[str, Points] = defaultdict(Points)
        self._sizes: dict[str, int] = defaultdict(int)
        self.files: list[Path] = []
        self.added = 0

    def __enter__(self) -> Self:
        into = self._into.absolute()
        existing = next((folder for folder in into.parents if folder.is_dir()), into)
        parent = self._into if self._into.is_dir() else existing
        scratch.clear(BEGINS, existing)  # of an import that was killed before its campaign existed
        with ExitStack() as stack:
            try:
                self._folder = stack.enter_context(scratch.folder(BEGINS, parent))
            except OSError as error:
                reason = f"{parent} cannot be written: {error.strerror}"
                raise DataError(f"{reason}. {safe_read.remedy(error)}: --into.") from error
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, benchmark: str, points: Points, size: int) -> None:
        """Add points of a benchmark, `size` B; those of a fingerprint come in the order of their launches."""
        self._points[benchmark].add(points)
        self._sizes[benchmark] += size
        self.added += len(points)
        if self._sizes[benchmark] > PORTION:
            self._write(benchmark)
        elif sum(self._sizes.values()) > TOGETHER:
            self._write(*self._points)

    def _write(self, *names: str) -> None:
        """Write the points of these benchmarks from memory, a file each."""
        for benchmark in names:
            folder = self._folder / benchmark
            folder.mkdir(exist_ok=True)
            self.files.append(compacted.write_patterned(self._points.pop(benchmark), folder, self._known.numbered))
            del self._sizes[benchmark]

    def publish(self, campaign: Campaign) -> None:
        """Move all files to the campaign and acknowledge each when its name is on disk; name the notebook for them."""
        self._write(*[name for name, points in self._points.items() if points])
        for path in self.files:
            name, digest = f"samples/{path.parent.name}", compacted.digest(path)
            with campaign.writing(), beneath.folder(campaign.open_path, name, make=True) as place:
                atomic.move(path, place / path.name, durable=True)
            campaign.tell("imported", file=f"{name}/{path.name}", sha256=digest)
        parameters = campaign.facts.get("parameters")
        given = parameters if isinstance(parameters, dict) else {}
        if self.files and NOTEBOOK not in given:
            campaign.update({"parameters": {**given, NOTEBOOK: {}}})
