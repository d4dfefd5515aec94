"""The samples of one benchmark on disk: files with one point, and compacted files with many finished points.

While points are compacted, or after that was interrupted, a point may be in several files. It counts once, and
compacted files come first, because they were compared with the files that they were made from.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import DataError
from labkit.io import atomic, safe_read
from labkit.store import samples
from labkit.store.samples import Raw, Samples, compacted
from labkit.store.samples.compacted import Name
from labkit.store.samples.start import Starts

_POINT = re.compile(r"([0-9a-f]{16})-(0|[1-9]\d{0,8})\.parquet")


_digest = compacted.digest  # a class below has a field of that module's name


@dataclass(frozen=True)
class Files:
    """Files in the folder of a benchmark.

    Parameters
    ----------
    folder : its folder.
    points : fingerprint and launch → the point's own file.
    compacted : files with many points.
    strangers : other Parquet files; reading one raises the error that says what is wrong with it.
    """

    folder: Path
    points: Mapping[Name, Path]
    compacted: tuple[Path, ...]
    strangers: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> Files:
        """Read the names in a folder."""
        points: dict[Name, Path] = {}
        others: list[Path] = []
        try:
            names = safe_read.names(folder)  # a pipe would block readers
        except FileNotFoundError:
            names = []
        except OSError as error:
            raise DataError(f"{folder} cannot be read: {error.strerror}. Make it readable.") from error
        for name in names:
            if match := _POINT.fullmatch(name):
                points[match[1], int(match[2])] = folder / name
            elif name.endswith(".parquet") and not name.startswith("."):
                others.append(folder / name)
        packed = tuple(path for path in others if path.name.startswith(compacted.PREFIX))
        return cls(folder, points, packed, tuple(path for path in others if path not in packed))

    def read(self, wanted: Collection[Name] | None = None, *, checked: bool = False) -> Iterator[tuple[Path, Raw]]:
        """Yield points by fingerprint and launch, each once, with their files; strangers last."""
        for _, path, load in self._merged(wanted, checked):
            yield path, load()
        if wanted is None:
            for path in self.strangers:
                yield path, samples.read(path, checked=checked)

    @staticmethod
    def single(name: Name, path: Path, *, checked: bool = False) -> Raw:
        """Read a point from its file; if it was compacted in the meantime, from the compacted file."""
        try:
            return samples.read(path, checked=checked)
        except DataError:
            files = Files.of(path.parent)
            if name not in files.points:
                for packed in files.compacted:
                    for _, raw in compacted.read(packed, {name}, checked=checked):
                        return raw
            raise

    def _merged(
        self, wanted: Collection[Name] | None = None, checked: bool = False
    ) -> Iterator[tuple[Name, Path, Callable[[], Raw]]]:
        """Yield every point once, with its file and the function that reads it."""
        rows = [_rows(path, place, wanted, checked) for place, path in enumerate(self.compacted)]
        singles = (
            (name, len(rows), path, _loading(name, path, checked))
            for name, path in sorted(self.points.items())
            if wanted is None or name in wanted
        )
        last = None
        for name, _, path, load in heapq.merge(*rows, singles, key=lambda row: row[:2]):
            if name != last:
                last = name
                yield name, path, load

    def checks(
        self, starts: Starts, digest: Callable[[Path], str] = _digest
    ) -> Iterator[tuple[Path, Callable[[], Iterator[tuple[Name, Samples]]]]]:
        """Yield every file with a function that reads it, compares its checksums, and yields its named points.

        Parameters
        ----------
        digest : checksum of a file, if the caller knows it.
        """

        def packed(path: Path) -> Iterator[tuple[Name, Samples]]:
            if path.name != f"{compacted.PREFIX}{digest(path)}.parquet":
                raise DataError("changed: its checksum is not the one in its name")
            for name, raw in compacted.read(path, checked=True):
                yield name, samples.decode(raw, path, starts)

        def single(path: Path, name: Name) -> Iterator[tuple[Name, Samples]]:
            yield name, samples.decode(samples.read(path, checked=True), path, starts)

        def stranger(path: Path) -> Iterator[tuple[Name, Samples]]:
            samples.decode(samples.read(path, checked=True), path)
            raise DataError("not the name of a point. Move it out of samples/")

        yield from ((path, lambda path=path: packed(path)) for path in self.compacted)
        yield from ((path, lambda path=path, name=name: single(path, name)) for name, path in self.points.items())
        yield from ((path, lambda path=path: stranger(path)) for path in self.strangers)

    def named(self, wanted: Collection[Name] | None = None) -> Iterator[tuple[Name, Path, Raw]]:
        """Yield points with their names and files, each once."""
        yield from ((name, path, load()) for name, path, load in self._merged(wanted))

    def compactable(self) -> bool:
        """Return whether there is more than one compacted file."""
        return bool(self.points) or len(self.compacted) > 1

    def compact(self) -> int:
        """Write all points to one file; then delete the files that it replaces.

        Returns
        -------
        The number of its points.

        Raises
        ------
        DataError
            If a file is damaged, or differs from the compacted one of the same name; nothing was deleted.
        """
        for temporary in self.folder.glob(".*.parquet.*"):
            temporary.unlink(missing_ok=True)  # of a process that was killed; nobody else writes under our lock
        self._compare()
        unfit: set[Path] = set()

        def fitting() -> Iterator[tuple[Name, Raw]]:
            for name, path, load in self._merged(checked=True):
                raw = load()
                if compacted.fits(raw):
                    yield name, raw
                else:
                    unfit.add(path)

        try:
            target, count = compacted.write(fitting(), self.folder)
        except OSError as error:
            raise DataError(
                f"{self.folder} cannot be compacted: {error.strerror}. All points are kept as they were; make "
                "room, and compact again."
            ) from error
        atomic.settle(self.folder)
        for path in (*self.points.values(), *self.compacted):
            if path not in unfit and path != target:
                path.unlink(missing_ok=True)
        return count

    def _compare(self) -> None:
        """Refuse points that differ between two files; both exist if compacting was interrupted."""
        for path in self.compacted:
            for name, raw in compacted.read(path, self.points.keys(), checked=True):
                single = self.points.get(name)
                if single and not _same(raw, samples.read(single, checked=True)):
                    raise DataError(
                        f"{single} and its point in {path} differ. Keep the right one, and delete the other."
                    )


def _loading(name: Name, path: Path, checked: bool) -> Callable[[], Raw]:
    """Return the function that reads a point from its file."""
    return lambda: Files.single(name, path, checked=checked)


def _rows(
    path: Path, place: int, wanted: Collection[Name] | None, checked: bool
) -> Iterator[tuple[Name, int, Path, Callable[[], Raw]]]:
    """Yield the points of a compacted file, for `heapq.merge`."""
    for name, load in compacted.each(path, wanted, checked=checked):
        yield name, place, path, load


def _same(first: Raw, second: Raw) -> bool:
    """Return whether two files hold the same point."""
    if (first.header, first.ranks, list(first.columns)) != (second.header, second.ranks, list(second.columns)):
        return False
    return all((values == second.columns[name]).all() for name, values in first.columns.items())
