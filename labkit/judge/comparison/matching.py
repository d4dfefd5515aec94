"""Which points of several sides match, and in which factors the sides differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.errors import SpecError
from labkit.judge.comparison.sides import CONDITIONS, Launches, Side, together
from labkit.point.units import format_size
from labkit.read.records.factors import ASSUMED, NONE

_COVERS: Mapping[str, tuple[str, ...]] = {
    "library": ("launcher",),
    "launcher": ("library",),
    "host": ("hosts",),
    "hosts": ("host",),
    "tool": ("library", "engine"),
}


@dataclass(frozen=True)
class Difference:
    """A factor in which the sides differ at every point of some benchmarks.

    Parameters
    ----------
    factor : its name.
    levels : levels of each side, as text.
    declared : whether the user allowed it.
    unstated : whether it is unknown on a side because of its origin, such as an imported log.
    imported : whether all launches are imported, so that the file's name stands for a testbed that nobody named.
    """

    factor: str
    levels: tuple[str, ...]
    declared: bool
    unstated: bool = False
    imported: bool = False

    @property
    def name(self) -> str:
        """What a reader calls the factor."""
        return "system of the import" if self.imported and self.factor == "testbed" else self.factor

    @property
    def words(self) -> str:
        """Levels of each side, separated by semicolons if a side has several."""
        return ("; " if any(", " in one for one in self.levels) else ", ").join(self.levels)

    def __str__(self) -> str:
        return f"{self.name} ({self.words})"


@dataclass(frozen=True)
class Points:
    """Points of a benchmark that all sides have.

    Parameters
    ----------
    benchmark : whose.
    sizes : (points,).
    settings : settings of each point.
    sides : launches of each side.
    rows : for each side, (launches,): positions of its launches, grouped by point.
    starts : for each side, (points,): where the launches of each point begin in `rows`.
    """

    benchmark: str
    sizes: Sequence[int]
    settings: Sequence[Mapping[str, str]]
    sides: tuple[Launches, ...]
    rows: tuple[NDArray[np.intp], ...]
    starts: tuple[NDArray[np.intp], ...]

    def __len__(self) -> int:
        """Number of points."""
        return len(self.sizes)

    @property
    def counts(self) -> tuple[NDArray[np.intp], ...]:
        """Launches of each side, (points,) each."""
        return tuple(np.diff([*s, len(r)]).astype(np.intp) for s, r in zip(self.starts, self.rows, strict=True))

    def number(self, side: int) -> NDArray[np.intp]:
        """Return the point of each of the launches in `rows` of a side, (launches,)."""
        return np.repeat(np.arange(len(self)), self.counts[side])


@dataclass(frozen=True)
class Matched:
    """Points that all sides have, and the factors in which the other points differ.

    Parameters
    ----------
    points : points that all sides have, of each benchmark.
    differences : factors that differ throughout.
    unmatched : labels of other points, each with the sides that have it.
    problem : why a point cannot be compared; empty if all can.
    """

    points: tuple[Points, ...]
    differences: tuple[Difference, ...]
    unmatched: tuple[tuple[str, tuple[str, ...]], ...]
    problem: str = ""


def match(sides: Mapping[str, Side], *, by: str, allow: Collection[str]) -> Matched:
    """Match the points of several sides.

    Points match by benchmark, size, and every factor with a common level.

    Parameters
    ----------
    by : factor with one level per side; ``campaign`` for whole campaigns.
    allow : factors that may differ.
    """
    declared = {*allow, by} | {other for name in (*allow, by) for other in _COVERS.get(name, ())}
    differences: dict[str, Difference] = {}
    points: list[Points] = []
    problems: list[str] = []
    unmatched: list[tuple[str, tuple[str, ...]]] = []
    for benchmark in dict.fromkeys(one.benchmark for side in sides.values() for one in side):
        split = [together(side, benchmark) for side in sides.values()]
        names = tuple(name for name, launches in zip(sides, split, strict=True) if len(launches))
        if len(names) < len(sides):
            sizes = pd.unique(np.concatenate([one.rows["message_size_B"].to_numpy() for one in split if len(one)]))
            unmatched += [(_label(benchmark, size, {}), names) for size in sizes.tolist()]
            continue
        keys, mixed = _split(split, differences, declared, by)
        matched, rest = _match(benchmark, split, keys, tuple(sides))
        unmatched += rest
        if len(matched):
            _add_conditions(matched, differences, declared)
            problems += _mixed(matched, mixed, tuple(sides))
            points.append(matched)
    return Matched(tuple(points), tuple(differences.values()), tuple(unmatched), next(iter(problems), ""))


def undeclared(differences: Sequence[Difference], sides: Sequence[str]) -> SpecError:
    """Return the error for factors that differ without being declared."""
    words = list(dict.fromkeys("origin" if one.unstated else one.factor for one in differences))
    systems = any(one.name != one.factor for one in differences)
    same = " If their files are of one system, import them with one --testbed NAME." if systems else ""
    return SpecError(
        f"{', '.join(sides)} differ in more than what was declared: {'; '.join(map(str, differences))}. If the "
        f"comparison is about these, declare them: --allow {','.join(words)}. To compare nevertheless, add --force: "
        f"the results then carry the badge 'not comparable'.{same}"
    )


def _split(
    split: Sequence[Launches], differences: dict[str, Difference], declared: Collection[str], by: str
) -> tuple[list[str], list[str]]:
    """Divide the factors of a benchmark: those that points match by, and those that differ throughout."""
    keys, mixed = [], []
    origins = len({origin for part in split for origin in pd.unique(part.level("origin"))}) > 1
    for name in dict.fromkeys(name for part in split for name in part.factors):
        if name == by or name in CONDITIONS:
            continue
        levels = [{*pd.unique(part.level(name))} for part in split]
        unstated = origins and {NONE} in levels and set.union(*levels) != {NONE}
        if set.intersection(*levels) and not unstated:
            keys += [name] if len(set.union(*levels)) > 1 else []
            continue
        mixed += [] if unstated else [name]
        _add(differences, name, levels, declared, split, [np.arange(len(part)) for part in split])
    return keys, mixed


def _add_conditions(points: Points, differences: dict[str, Difference], declared: Collection[str]) -> None:
    """Add the conditions in which the sides of any point differ."""
    for name in CONDITIONS:
        levels = [side.level(name)[rows] for side, rows in zip(points.sides, points.rows, strict=True)]
        codes, words = pd.factorize(np.concatenate(levels))
        if len(words) < 2:
            continue
        ends = np.cumsum([len(part) for part in levels])
        each: list[list[set[str]]] = []  # of each side, the levels of each point
        for side, (end, part) in enumerate(zip(ends.tolist(), levels, strict=True)):
            found: list[set[str]] = [set() for _ in range(len(points))]
            here = np.unique(points.number(side) * len(words) + codes[end - len(part) : end])
            for point, code in zip((here // len(words)).tolist(), (here % len(words)).tolist(), strict=True):
                found[point].add(words[code])
            each.append(found)
        differing = np.array([len({*map(frozenset, of_point)}) > 1 for of_point in zip(*each, strict=True)], bool)
        if differing.any():
            places = np.flatnonzero(differing).tolist()
            rows = [rows[differing[points.number(side)]] for side, rows in enumerate(points.rows)]
            union = [set[str]().union(*(found[point] for point in places)) for found in each]
            _add(differences, name, union, declared, points.sides, rows)


def _add(
    differences: dict[str, Difference],
    name: str,
    levels: Sequence[set[str]],
    declared: Collection[str],
    split: Sequence[Launches],
    rows: Sequence[NDArray[np.intp]],
) -> None:
    """Add a factor that differs in some rows of each side, unless one of its name is there that was not declared."""
    parts = list(zip(split, rows, strict=True))
    origins = {origin for part, some in parts for origin in pd.unique(part.level("origin")[some])}
    unstated = len(origins) > 1 and {NONE} in levels
    allowed = name in declared or (unstated and "origin" in declared)
    missing = "not stated" if unstated else "not set"
    told: dict[str, str] = {}
    for part, some in parts:
        codes, words = pd.factorize(part.level(name)[some][::-1])  # the last launch of a level decides
        last = np.unique(codes, return_index=True)[1]
        told |= dict(zip(words.tolist(), part.told(name)[some][::-1][last].tolist(), strict=True))
    told[NONE] = missing
    texts = tuple(", ".join(sorted({told[one] for one in part})) for part in levels)
    if name not in differences or (differences[name].declared and not allowed):
        differences[name] = Difference(name, texts, allowed, unstated, origins == {"imported"})


def _match(
    benchmark: str, split: Sequence[Launches], keys: Sequence[str], sides: Sequence[str]
) -> tuple[Points, list[tuple[str, tuple[str, ...]]]]:
    """Return the points that all sides have, and labels of the others with the sides that have them."""
    sizes = np.concatenate([part.rows["message_size_B"].to_numpy() for part in split])
    levels = [np.concatenate([part.level(key) for part in split]) for key in keys]
    group, first = _sorted(sizes, levels)
    ends = np.cumsum([len(part) for part in split])
    of_side = [group[end - len(part) : end] for end, part in zip(ends.tolist(), split, strict=True)]
    counts = np.array([np.bincount(one, minlength=len(first)) for one in of_side])
    present = np.asarray(counts.all(axis=0), bool)
    rows, starts = [], []
    for one, count in zip(of_side, counts, strict=True):
        order = np.argsort(one, kind="stable")
        rows.append(order[present[one[order]]])
        starts.append(np.concatenate([[0], np.cumsum(count[present])])[:-1].astype(np.intp))
    # if only some launches are marked, the marked text is longer, and it is taken
    marked = np.concatenate([part.assumed for part in split])
    assumed = np.asarray(np.bincount(group, marked, len(first)) > 0)
    chosen = first[present]
    columns = [
        np.where(assumed[present], values[chosen] + ASSUMED, values[chosen]) if key == "ranks" else values[chosen]
        for key, values in zip(keys, levels, strict=True)
    ]
    settings = (
        [dict(zip(keys, words, strict=True)) for words in zip(*columns, strict=True)] if keys else [{}] * len(chosen)
    )
    matched = Points(benchmark, sizes[chosen].tolist(), settings, tuple(split), tuple(rows), tuple(starts))
    told = np.concatenate([part.told("ranks") for part in split]) if "ranks" in keys else sizes
    lacking = np.flatnonzero(~present[group])
    distinct = lacking[~pd.DataFrame({"group": group[lacking], "told": told[lacking]}).duplicated().to_numpy()]
    rest = []
    for launch in distinct[np.argsort(group[distinct], kind="stable")].tolist():
        having = tuple(name for name, there in zip(sides, counts[:, group[launch]].tolist(), strict=True) if there)
        setting = {key: values[launch] for key, values in zip(keys, levels, strict=True) if values[launch] != NONE}
        setting |= {"ranks": told[launch]} if "ranks" in setting else {}
        rest.append((_label(benchmark, int(sizes[launch]), setting), having))
    return matched, rest


def _label(benchmark: str, size: int, setting: Mapping[str, str]) -> str:
    """Return the label of a point."""
    return ", ".join([f"{benchmark} {format_size(size)}", *(f"{name}={level}" for name, level in setting.items())])


def _sorted(
    sizes: NDArray[np.int64], levels: Sequence[NDArray[np.object_]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the group of each launch by size and levels, and the first launch of each; groups are sorted."""
    columns = [sizes, *levels]
    codes = [np.asarray(pd.factorize(column, sort=True)[0], np.intp) for column in columns]
    group = codes[0]
    for code in codes[1:]:
        group = np.unique(group * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    return group, np.unique(group, return_index=True)[1].astype(np.intp)


def _mixed(points: Points, names: Sequence[str], sides: Sequence[str]) -> Iterator[str]:
    """Say where launches of a point on one side have several levels of a factor in which the sides differ."""
    found: list[tuple[int, int, int]] = []  # point, side, name
    for side, (launches, rows) in enumerate(zip(points.sides, points.rows, strict=True)):
        for place, name in enumerate(names):
            codes = pd.factorize(launches.level(name)[rows])[0]
            low, high = (one.reduceat(codes, points.starts[side]) for one in (np.minimum, np.maximum))
            found += [(point, side, place) for point in np.flatnonzero(low != high)[:1].tolist()]
    for point, side, place in sorted(found)[:1]:
        here, name = points.rows[side][points.number(side) == point], names[place]
        levels = sorted({*points.sides[side].level(name)[here].tolist()})
        yield (
            f"{points.benchmark}, {format_size(points.sizes[point])}: {sides[side]} has {len(levels)} levels of {name} "
            f"({', '.join(levels)}), and the other sides have none of them. Choose one with "
            f"--where {name}={levels[0]}, or compare levels with --by {name}."
        )
