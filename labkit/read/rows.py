"""Samples of a benchmark as batches, file by file, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.stats.lists import Lists, begins
from labkit.store import samples
from labkit.store.files import Files
from labkit.store.samples import Raw, Samples, compacted
from labkit.store.samples.batch import Batch
from labkit.store.samples.compacted import Group, Name
from labkit.store.samples.start import Starts

_MOST = 1 << 10  # files of single points that are read at a time
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some launches of a benchmark.

    Parameters
    ----------
    group : their columns.
    where : (launches,), the file of each.
    many : place → content, of launches that only `labkit.store.samples.decode` can read: with statistics over their
        ranks, or with an error in them.
    """

    group: Group
    where: Sequence[Path]
    many: Mapping[int, Raw]

    def __len__(self) -> int:
        """Number of launches."""
        return len(self.where)


def chunks(files: Files, *, described: bool = True) -> Iterator[Chunk]:
    """Yield every launch of a benchmark once, in the order of its files, some at a time.

    Parameters
    ----------
    described : whether the metadata are needed.
    """
    seen: set[Name] = set()
    several = len(files.compacted) > 1 or bool(files.compacted and files.points)
    for path in files.compacted:
        for group in compacted.groups(path, described=described):
            new = group
            if several:
                new = _without(group, seen)
                seen.update(group.names)
            if new.names:
                yield Chunk(new, [path] * len(new.names), {})
    single = [(name, path) for name, path in sorted(files.points.items()) if name not in seen]
    for start in range(0, len(single), _MOST):
        some = single[start : start + _MOST]
        yield _chunk([name for name, _ in some], [path for _, path in some], [files.single(*one) for one in some])
    for path in files.strangers:
        yield _chunk([("", 0)], [path], [samples.read(path)])


def _without(group: Group, seen: Collection[Name]) -> Group:
    """Return a group without launches that another file has."""
    rows = [row for row, name in enumerate(group.names) if name not in seen]
    if len(rows) == len(group.names):
        return group
    return compacted.of_raws([group.names[row] for row in rows], [group.raw(row) for row in rows])


def _chunk(names: list[Name], where: list[Path], raws: list[Raw]) -> Chunk:
    """Return launches that are in their own files."""
    many = {place: raw for place, raw in enumerate(raws) if not compacted.fits(raw) or "time_ns" not in raw.columns}
    plain = [
        raw if place not in many else replace(raw, ranks=(), columns={"time_ns": _NOTHING})
        for place, raw in enumerate(raws)
    ]
    return Chunk(compacted.of_raws(names, plain), where, many)


def batches(
    chunk: Chunk, alike: Sequence[tuple[int, ...]], kinds: Sequence[Samples], starts: Starts, make: Callable[..., Batch]
) -> Iterator[tuple[NDArray[np.intp], Batch]]:
    """Yield the launches of a chunk as batches, each with their places in it.

    Parameters
    ----------
    alike : (launches,), the place of each among the kinds, and whatever else must be equal in a batch.
    make : returns the batch of some places; its keywords are ``kind``, ``time_ns``, ``starts`` and ``extras``.
    """
    group = chunk.group
    counts = np.diff(group.time_ns.starts)
    timed = (counts > 0).tolist()
    keys: dict[tuple[Any, ...], list[int]] = {}
    for row, each in enumerate(alike):
        if row in chunk.many:
            continue
        labels = tuple(group.labels[group.label_starts[row] : group.label_starts[row + 1]])
        keys.setdefault((each, group.ranks[row].tobytes(), labels, timed[row]), []).append(row)
    made: dict[tuple[int, bytes], Samples] = {}
    for (each, ranks, labels, _), listed in sorted(keys.items(), key=lambda one: one[0]):
        places = np.array(listed)
        who = tuple(np.frombuffer(ranks, np.int32).tolist())
        if (each[0], ranks) not in made:
            made[each[0], ranks] = replace(kinds[each[0]], ranks=who)
        lists = {label: group.label_starts[places] + number for number, label in enumerate(labels)}
        wrong = counts[places] % max(len(who), 1) != 0 if who else counts[places] > 0
        for own in lists.values():
            wrong |= np.diff(group.extras.starts)[own] != counts[places]
        if wrong.any():
            first = listed[int(wrong.argmax())]
            samples.decode(group.raw(first), chunk.where[first], starts)  # raises the error that says so
        times = _columns(group.time_ns, places, len(who))
        extras = {label: _columns(group.extras, own, len(who)) for label, own in lists.items()}
        begin = begins(counts[places] // max(len(who), 1))
        yield places, make(places, kind=made[each[0], ranks], time_ns=times, starts=begin, extras=extras)
    for row, raw in chunk.many.items():
        yield np.array([row]), Batch.of(samples.decode(raw, chunk.where[row], starts))


def _columns(lists: Lists, places: NDArray[np.intp], ranks: int) -> NDArray[Any]:
    """Return lists, each with one rank after the other, as (ranks, values), joined together."""
    begin, counts = lists.starts[places], lists.counts[places]
    behind = begin[1:] == (begin + counts)[:-1]  # the list before it
    if ranks == 1 and behind.all():
        return np.asarray(lists.values[begin[0] : begin[0] + counts.sum()])[None]
    out = np.empty((ranks, int(counts.sum()) // max(ranks, 1)), lists.values.dtype)
    edges = np.flatnonzero(~behind | (counts[1:] != counts[:-1])) + 1
    end = 0
    for first, last in pairwise([0, *edges.tolist(), len(places)]) if out.size else ():  # neighbours of equal length
        count, some = int(counts[first]), last - first
        values = lists.values[begin[first] : begin[first] + some * count].reshape(some, ranks, count // ranks)
        start, end = end, end + some * count // ranks
        out[:, start:end] = values.transpose(1, 0, 2).reshape(ranks, end - start)
    return out
