"""Points of texts in a campaign: sorted in portions, each a compacted file, made aside and moved when all is read."""

from __future__ import annotations

import shutil
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from labkit import scratch, writing
from labkit.campaign import Campaign
from labkit.errors import DataError
from labkit.importing.known import Known
from labkit.samples import compacted
from labkit.samples.patterned import Points

BEGINS = ".labkit-import-"
PORTION, TOGETHER = 16 << 20, 48 << 20  # B of points in memory, of a benchmark and of all, before they are written


class Keep:
    """Where points go until all texts are read; leaving it without `publish` leaves nothing behind.

    Parameters
    ----------
    into : folder of the campaign, which need not be there.
    known : what the campaign has; gives points their launches.
    """

    def __init__(self, into: Path, known: Known) -> None:
        self._into, self._known = into, known
        self._points: dict[str, Points] = defaultdict(Points)
        self._sizes: dict[str, int] = defaultdict(int)
        self.files: list[Path] = []
        self.added = 0

    def __enter__(self) -> Self:
        into = self._into.absolute()
        above = next((folder for folder in into.parents if folder.is_dir()), into)
        there = self._into if self._into.is_dir() else above
        scratch.clear(BEGINS, above)  # one may have been ended before its campaign was there
        with ExitStack() as stack:
            try:
                self._folder = stack.enter_context(scratch.folder(BEGINS, there))
            except OSError as error:
                reason = f"{there} cannot be written: {error.strerror}"
                raise DataError(f"{reason}. Name another campaign with --into.") from error
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, benchmark: str, points: Points, size: int) -> None:
        """Take points of a benchmark, those of a fingerprint in the order of their launches, that are so many bytes."""
        self._points[benchmark].add(points)
        self._sizes[benchmark] += size
        self.added += len(points)
        if self._sizes[benchmark] > PORTION:
            self._write(benchmark)
        elif sum(self._sizes.values()) > TOGETHER:
            self._write(*self._points)

    def _write(self, *names: str) -> None:
        """Write what is in memory of some benchmarks, a file each."""
        for benchmark in names:
            folder = self._folder / benchmark
            folder.mkdir(exist_ok=True)
            self.files.append(compacted.write_patterned(self._points.pop(benchmark), folder, self._known.numbered))
            del self._sizes[benchmark]

    def publish(self, held: Campaign) -> None:
        """Move everything to its campaign; the names are on disk before it is told."""
        self._write(*[name for name, points in self._points.items() if points])
        for path in self.files:
            folder = held.path / "samples" / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            shutil.move(path, folder / path.name)
            writing.settle(folder)
            held.tell(
                "imported", file=f"samples/{folder.name}/{path.name}", sha256=compacted.digest(folder / path.name)
            )
