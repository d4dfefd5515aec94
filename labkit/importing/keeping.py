"""Points of texts in a campaign: sorted in portions, each a compacted file, made aside and moved when all is read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Self

from labkit.campaign import Campaign
from labkit.errors import DataError
from labkit.importing.points import Point, header
from labkit.samples import bare, compacted

PORTION, TOGETHER = 16 << 20, 48 << 20  # B of points in memory, of a benchmark and of all, before they are written


class _Portion:
    """Points of a benchmark in memory, and how many bytes they are."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.held = 0


class Keep:
    """Where points go until all texts are read; leaving it without `publish` leaves nothing behind.

    Parameters
    ----------
    into : folder of the campaign, which need not be there.
    """

    def __init__(self, into: Path) -> None:
        self._into = into
        self._points: dict[str, _Portion] = {}
        self._held = 0
        self.files: list[Path] = []
        self.added = 0

    def __enter__(self) -> Self:
        there = next(folder for folder in (self._into, *self._into.absolute().parents) if folder.is_dir())
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=".labkit-import-", dir=there))
        except OSError as error:
            reason = f"{there} cannot be written: {error.strerror}"
            raise DataError(f"{reason}. Name another campaign with --into.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, benchmark: str, points: Sequence[Point], size: int) -> None:
        """Take points of a benchmark, those of a fingerprint by launch, that are so many bytes."""
        portion = self._points.get(benchmark)
        if portion is None:
            portion = self._points[benchmark] = _Portion()
        portion.points += points
        portion.held += size
        self._held += size
        self.added += len(points)
        if portion.held > PORTION:
            self._write(benchmark)
        elif self._held > TOGETHER:
            self._write(*self._points)

    def _write(self, *names: str) -> None:
        """Write what is in memory of some benchmarks, a file each."""
        for benchmark in names:
            portion = self._points.pop(benchmark)
            folder = self._folder / benchmark
            folder.mkdir(exist_ok=True)
            portion.points.sort(key=itemgetter(0))  # stable: launches stay in their order
            self.files.append(bare.write(portion.points, folder, header))
            self._held -= portion.held

    def publish(self, held: Campaign) -> None:
        """Move everything to its campaign."""
        self._write(*self._points)
        for path in self.files:
            folder = held.path / "samples" / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            shutil.move(path, folder / path.name)
            held.log(f"sha256:{compacted.digest(folder / path.name)} imported samples/{folder.name}/{path.name}")
