"""The samples of one benchmark on disk: a file for each point, and files with many finished points.

A point may be in several of them while it is being compacted, or after that was ended in the middle. Then it counts
once: compacted files come first, for they were compared with what they were made from.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit import outside, samples, writing
from labkit.errors import DataError
from labkit.samples import Raw, Samples, compacted
from labkit.samples.compacted import Name

_POINT = re.compile(r"([0-9a-f]{16})-(0|[1-9]\d{0,8})\.parquet")


@dataclass(frozen=True)
class Files:
    """What lies in the folder of a benchmark.

    Parameters
    ----------
    folder : its folder.
    points : fingerprint and launch → the point's own file.
    compacted : files with many points.
    strangers : other Parquet files; reading them tells what is wrong with them.
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
            names = outside.names(folder)  # a pipe would block readers
        except FileNotFoundError:
            names = []
        except OSError as error:
            raise DataError(f"{folder} cannot be read: {error.strerror}. Make it readable.") from error
        for name in names:
            if match := _POINT.fullmatch(name):
                points[match[1], int(match[2])] = folder / name
            elif name.endswith(".parquet") and not name.startswith("."):
                others.append(folder / name)
        many = tuple(path for path in others if path.name.startswith(compacted.PREFIX))
        return cls(folder, points, many, tuple(path for path in others if path not in many))

    def read(self, wanted: Collection[Name] | None = None, *, checked: bool = False) -> Iterator[tuple[Path, Raw]]:
        """Points by fingerprint and launch, each once, with the file they are from; strangers last."""
        for _, path, load in self._merged(wanted, checked):
            yield path, load()
        if wanted is None:
            for path in self.strangers:
                yield path, samples.read(path, checked=checked)

    def _merged(
        self, wanted: Collection[Name] | None = None, checked: bool = False
    ) -> Iterator[tuple[Name, Path, Callable[[], Raw]]]:
        """Every point once, with what reads it."""
        rows = [_rows(path, place, wanted, checked) for place, path in enumerate(self.compacted)]
        own = (
            (name, len(rows), path, lambda name=name, path=path: _own(name, path, checked))
            for name, path in sorted(self.points.items())
            if wanted is None or name in wanted
        )
        before = None
        for name, _, path, load in heapq.merge(*rows, own, key=lambda row: row[:2]):
            if name != before:
                before = name
                yield name, path, load

    def checks(self) -> Iterator[tuple[Path, Callable[[], Iterator[tuple[Name, Samples]]]]]:
        """Every file with what reads all of it, compares its checksums and tells its points with their names."""

        def many(path: Path) -> Iterator[tuple[Name, Samples]]:
            if path.name != f"{compacted.PREFIX}{compacted.digest(path)}.parquet":
                raise DataError("changed: its checksum is not the one in its name")
            for name, raw in compacted.read(path, checked=True):
                yield name, samples.decode(raw, path)

        def one(path: Path, name: Name) -> Iterator[tuple[Name, Samples]]:
            yield name, samples.decode(samples.read(path, checked=True), path)

        def stranger(path: Path) -> Iterator[tuple[Name, Samples]]:
            samples.decode(samples.read(path, checked=True), path)
            raise DataError("not the name of a point. Move it out of samples/")

        yield from ((path, lambda path=path: many(path)) for path in self.compacted)
        yield from ((path, lambda path=path, name=name: one(path, name)) for name, path in self.points.items())
        yield from ((path, lambda path=path: stranger(path)) for path in self.strangers)

    def named(self) -> Iterator[tuple[Name, Path, Raw]]:
        """Points with their names, each once."""
        yield from ((name, path, load()) for name, path, load in self._merged())

    def compactable(self) -> bool:
        """Whether there is anything that is not in the one compacted file."""
        return bool(self.points) or len(self.compacted) > 1

    def compact(self) -> int:
        """Write all points to one file; then delete the files that it replaces.

        Returns
        -------
        How many points it holds.

        Raises
        ------
        DataError
            If a file is damaged, or differs from the compacted one of the same name; nothing was deleted.
        """
        for aside in self.folder.glob(".*.parquet.*"):
            aside.unlink(missing_ok=True)  # of a process that was ended; we hold the campaign lock, so none writes now
        self._compare()
        left: set[Path] = set()

        def fitting() -> Iterator[tuple[Name, Raw]]:
            for name, path, load in self._merged(checked=True):
                raw = load()
                if compacted.fits(raw):
                    yield name, raw
                else:
                    left.add(path)

        try:
            target, count = compacted.write(fitting(), self.folder)
        except OSError as error:
            raise DataError(
                f"{self.folder} cannot be compacted: {error.strerror}. All points are kept as they were; make "
                "room, and "
                "compact again."
            ) from error
        writing.settle(self.folder)
        for path in (*self.points.values(), *self.compacted):
            if path not in left and path != target:
                path.unlink(missing_ok=True)
        return count

    def _compare(self) -> None:
        """A point that is in a compacted file too, because compacting was ended in the middle, must be the same."""
        for path in self.compacted:
            for name, raw in compacted.read(path, self.points.keys(), checked=True):
                if (own := self.points.get(name)) and not _same(raw, samples.read(own, checked=True)):
                    raise DataError(f"{own} and its point in {path} differ. Keep the right one, and delete the other.")


def _own(name: Name, path: Path, checked: bool) -> Raw:
    """A point's own file, or what holds the point where it was compacted since the folder was read."""
    try:
        return samples.read(path, checked=checked)
    except DataError:
        there = Files.of(path.parent)
        if name not in there.points:
            for many in there.compacted:
                for _, raw in compacted.read(many, {name}, checked=checked):
                    return raw
        raise


def _rows(
    path: Path, place: int, wanted: Collection[Name] | None, checked: bool
) -> Iterator[tuple[Name, int, Path, Callable[[], Raw]]]:
    """Points of a compacted file, for merging."""
    for name, load in compacted.each(path, wanted, checked=checked):
        yield name, place, path, load


def _same(one: Raw, two: Raw) -> bool:
    """Whether two files hold the same."""
    return (one.header, one.ranks, list(one.columns)) == (two.header, two.ranks, list(two.columns)) and all(
        (values == two.columns[name]).all() for name, values in one.columns.items()
    )
