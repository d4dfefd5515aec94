"""Which points of several sides match, and in which factors the sides differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.analysis.comparison.sides import CONDITIONS, Launch
from labkit.errors import SpecError
from labkit.records.factors import NONE
from labkit.units import format_size

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
    levels : of each side, as text.
    declared : whether the user allowed it.
    unstated : whether a side does not state it, because its origin gives no such fact.
    """

    factor: str
    levels: tuple[str, ...]
    declared: bool
    unstated: bool = False

    def __str__(self) -> str:
        return f"{self.factor} ({', '.join(self.levels)})"


@dataclass(frozen=True)
class Point:
    """A point that all sides have."""

    benchmark: str
    size: int
    setting: Mapping[str, str]
    sides: tuple[list[Launch], ...]


@dataclass(frozen=True)
class Matched:
    """Points that all sides have, and what keeps others apart.

    Parameters
    ----------
    points : that all sides have.
    differences : factors that differ throughout.
    unmatched : labels of other points, each with the sides that have it.
    problem : why a point cannot be compared; empty if all can.
    """

    points: tuple[Point, ...]
    differences: tuple[Difference, ...]
    unmatched: tuple[tuple[str, tuple[str, ...]], ...]
    problem: str = ""


def match(sides: Mapping[str, Sequence[Launch]], *, by: str, allow: Collection[str]) -> Matched:
    """Match the points of several sides.

    Points match by benchmark, size and every factor whose levels sides have in common.

    Parameters
    ----------
    by : factor that the sides are levels of; ``campaign`` for whole campaigns.
    allow : factors that may differ.
    """
    every = [one for launches in sides.values() for one in launches]
    declared = {*allow, by} | {other for name in (*allow, by) for other in _COVERS.get(name, ())}
    differences: dict[str, Difference] = {}
    points: list[Point] = []
    problems: list[str] = []
    unmatched: list[tuple[str, tuple[str, ...]]] = []
    for benchmark in dict.fromkeys(one.benchmark for one in every):
        split = [[one for one in launches if one.benchmark == benchmark] for launches in sides.values()]
        names = tuple(name for name, launches in zip(sides, split, strict=True) if launches)
        if len(names) < len(sides):
            unmatched += [(label, names) for label in _labels([one for part in split for one in part], ())]
            continue
        keys, mixed = _split(split, differences, declared, by)
        matched, rest = _match(benchmark, split, keys, tuple(sides))
        unmatched += rest
        _add_conditions(matched, differences, declared)
        problems += [text for point in matched for text in _mixed(point, mixed, tuple(sides))]
        points += matched
    return Matched(tuple(points), tuple(differences.values()), tuple(unmatched), next(iter(problems), ""))


def undeclared(differences: Sequence[Difference], sides: Sequence[str]) -> SpecError:
    """Return the error for factors that differ without being declared."""
    words = list(dict.fromkeys("origin" if one.unstated else one.factor for one in differences))
    return SpecError(
        f"{', '.join(sides)} differ in more than what was declared: {'; '.join(map(str, differences))}. If the "
        f"comparison is about these, declare them: --allow {','.join(words)}. To compare nevertheless, add --force: "
        "the results then carry the badge 'not comparable'."
    )


def _split(
    split: Sequence[Sequence[Launch]], differences: dict[str, Difference], declared: Collection[str], by: str
) -> tuple[list[str], list[str]]:
    """Divide the factors of a benchmark: those that points match by, and those that differ throughout."""
    keys, mixed = [], []
    every = [one for part in split for one in part]
    origins = len({one.factors["origin"] for one in every}) > 1
    for name in dict.fromkeys(name for one in every for name in one.factors):
        if name == by or name in CONDITIONS:
            continue
        levels = [{one.factors.get(name, NONE) for one in part} for part in split]
        unstated = origins and {NONE} in levels and set.union(*levels) != {NONE}
        if set.intersection(*levels) and not unstated:
            keys += [name] if len(set.union(*levels)) > 1 else []
            continue
        mixed += [] if unstated else [name]
        _add(differences, name, levels, declared, every)
    return keys, mixed


def _add_conditions(points: Sequence[Point], differences: dict[str, Difference], declared: Collection[str]) -> None:
    """Add the conditions in which the sides of any point differ."""
    for name in CONDITIONS:
        split = [[{one.factors.get(name, NONE) for one in part} for part in point.sides] for point in points]
        differing = [n for n, levels in enumerate(split) if len({*map(frozenset, levels)}) > 1]
        if differing:
            levels = [set[str]().union(*side) for side in zip(*(split[n] for n in differing), strict=True)]
            launches = [one for n in differing for part in points[n].sides for one in part]
            _add(differences, name, levels, declared, launches)


def _add(
    differences: dict[str, Difference],
    name: str,
    levels: Sequence[set[str]],
    declared: Collection[str],
    launches: Sequence[Launch],
) -> None:
    """Add a factor that differs, unless one of its name is there that was not declared."""
    origins = len({one.factors["origin"] for one in launches}) > 1
    unstated = origins and {NONE} in levels
    allowed = name in declared or (unstated and "origin" in declared)
    missing = "not stated" if unstated else "none"
    told = {one.factors.get(name, NONE): one.told(name) for one in launches} | {NONE: missing}
    words = tuple(", ".join(sorted({told[one] for one in part})) for part in levels)
    if name not in differences or (differences[name].declared and not allowed):
        differences[name] = Difference(name, words, allowed, unstated)


def _match(
    benchmark: str, split: Sequence[Sequence[Launch]], keys: Sequence[str], sides: Sequence[str]
) -> tuple[list[Point], list[tuple[str, tuple[str, ...]]]]:
    """Return the points that all sides have, and labels of the others with the sides that have them."""
    groups: dict[tuple[Any, ...], tuple[list[Launch], ...]] = {}
    for place, part in enumerate(split):
        for one in part:
            name = (one.size, *(one.factors.get(key, NONE) for key in keys))
            groups.setdefault(name, tuple([] for _ in split))[place].append(one)
    matched, rest = [], []
    for _, present_on in sorted(groups.items()):
        launches = [one for part in present_on for one in part]
        # if only some launches are marked, the marked text is longer, and max takes it
        setting = {key: max(one.told(key) for one in launches) for key in keys}
        if all(present_on):
            matched.append(Point(benchmark, launches[0].size, setting, present_on))
        else:
            having = tuple(name for name, part in zip(sides, present_on, strict=True) if part)
            rest += [(label, having) for label in _labels(launches, keys)]
    return matched, rest


def _labels(launches: Sequence[Launch], keys: Sequence[str]) -> list[str]:
    """Return a label for every point among launches."""
    labels = (
        ", ".join([f"{one.benchmark} {format_size(one.size)}", *(f"{k}={one.told(k)}" for k in keys if _set(one, k))])
        for one in launches
    )
    return list(dict.fromkeys(labels))


def _set(one: Launch, factor: str) -> bool:
    """Return whether a launch has a level of a factor."""
    return one.factors.get(factor, NONE) != NONE


def _mixed(point: Point, names: Sequence[str], sides: Sequence[str]) -> Iterator[str]:
    """Say where launches of a point on one side have several levels of a factor in which the sides differ."""
    for side, launches in zip(sides, point.sides, strict=True):
        for name in names:
            levels = sorted({one.factors.get(name, NONE) for one in launches})
            if len(levels) > 1:
                yield (
                    f"{point.benchmark}, {format_size(point.size)}: {side} has {len(levels)} levels of {name} "
                    f"({', '.join(levels)}), and the other sides have none of them. Choose one with "
                    f"--where {name}={levels[0]}, or compare levels with --by {name}."
                )
