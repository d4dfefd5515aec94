"""Which conditions of the new launches no past launch had."""

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
    """Return what of the new launches of each point no past launch had: libraries, hosts, variables, badges."""
    names = list(dict.fromkeys([*_FOUND, *variables(new.frame), *variables(past.frame)]))
    levels = [list(zip(_levels(new, name), _levels(past, name), strict=True)) for name in names]
    marks = list(zip(_badges(new), _badges(past), strict=True))
    known: dict[Any, tuple[str, ...]] = {}
    found = []
    for key in zip(*levels, marks, strict=True):
        if key not in known:
            known[key] = _unlike(names, key[:-1], *key[-1])
        found.append(known[key])
    return found


def _levels(points: Points, column: str) -> list[frozenset[str]]:
    """Return the levels of a factor at each point."""
    if column not in points.frame:
        return [frozenset({NONE})] * len(points)
    codes, values = distinct(points.frame[column])
    words = [level(value) for value in values]
    known: dict[tuple[int, ...], frozenset[str]] = {}
    return [known.setdefault(one, frozenset(words[code] for code in one)) for one in _sets(points, codes)]


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


def _badges(points: Points) -> list[tuple[tuple[notes.Note, ...], ...]]:
    """Return the different lists of badges of each point."""
    codes, cells = noted(points.frame["badges"])
    known: dict[tuple[int, ...], tuple[tuple[notes.Note, ...], ...]] = {}
    return [known.setdefault(one, tuple(cells[code] for code in one)) for one in _sets(points, codes)]


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
