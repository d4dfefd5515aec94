"""Conditions of the new launches that no past launch had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.judge.matching_points import Points, variables
from labkit.point import notes
from labkit.read.records.factors import NONE, distinct, level, named, noted

_FOUND = ("library", "engine", "host", "cpu_model")  # may differ from the past; the verdict says so


def differs(new: Points, past: Points) -> list[tuple[str, ...]]:
    """Return for each point the libraries, hosts, variables and badges that no past launch had."""
    names = list(dict.fromkeys([*_FOUND, *variables(new.frame), *variables(past.frame)]))
    parts = [each for name in names for each in (_levels(new, name), _levels(past, name))]
    known: dict[tuple[int, ...], tuple[str, ...]] = {}
    found = []
    for one in zip(*parts, _badges(new), _badges(past), strict=True):
        key = tuple(map(id, one))  # equal ones of a part are one object, and hashing notes takes longer
        if key not in known:
            levels = list(zip(one[:-2:2], one[1:-2:2], strict=True))
            known[key] = _unlike(names, levels, *one[-2:])
        found.append(known[key])
    return found


def _levels(points: Points, column: str) -> list[Any]:
    """Return the set of levels of a factor at each point; equal ones are one object."""
    if column not in points.frame:
        return [frozenset({NONE})] * len(points)
    codes, values = distinct(points.frame[column])
    words = [level(value) for value in values]
    sets = _sets(points, codes)
    known = {one: frozenset(words[code] for code in one) for one in set(sets)}
    return [known[one] for one in sets]


def _sets(points: Points, codes: NDArray[np.intp]) -> list[tuple[int, ...]]:
    """Return the different codes of each point in the order they occur in; equal ones are one object."""
    own = codes[points.rows]
    low, high = (one.reduceat(own, points.starts) for one in (np.minimum, np.maximum))
    single: dict[int, tuple[int, ...]] = {code: (code,) for code in np.unique(low).tolist()}
    found = [single[code] for code in low.tolist()]
    for place in np.flatnonzero(low != high).tolist():
        begin = points.starts[place]
        found[place] = tuple(dict.fromkeys(own[begin : begin + points.counts[place]].tolist()))
    return found


def _badges(points: Points) -> list[Any]:
    """Return the different lists of badges of each point, tuples of notes; equal ones are one object."""
    codes, cells = noted(points.frame["badges"])
    sets = _sets(points, codes)
    known = {one: tuple(cells[code] for code in one) for one in set(sets)}
    return [known[one] for one in sets]


def _unlike(
    names: Sequence[str],
    levels: Sequence[tuple[frozenset[str], frozenset[str]]],
    new: Sequence[tuple[notes.Note, ...]],
    past: Sequence[tuple[notes.Note, ...]],
) -> tuple[str, ...]:
    """Return what of the levels and badges of a point no past launch had."""
    texts = []
    for column, (now, before) in zip(names, levels, strict=True):
        if fresh := sorted(now - before):
            earlier = ", ".join(sorted(before)[:2])
            texts.append(f"{named(column)} {', '.join(fresh[:2])} instead of {earlier}")
    badges = {one.code for cell in past for one in cell}
    return (*texts, *(one.text for one in notes.once(new) if one.code not in badges))
