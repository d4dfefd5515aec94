"""Finds the differences between the points of a benchmark: settings, options, variables, and places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.point import testbed_words
from labkit.point.notes import Note
from labkit.point.units import format_exact
from labkit.read.records.aggregate import GIVEN, by_identity
from labkit.store.samples.facts import BROUGHT

# what labkit decides or a user sets, by the name of its column
SETTING = (
    "origin",
    "testbed",
    "transport",
    "library",
    "launcher",
    "engine",
    "device",
    "hosts",
    "ranks",
    "ppn",
    "bind",
    "cadence",
    "timing",
)
_WHERE = ("host", "cpu_model", "campaign")
_NEVER_STATED = ("transport", "launcher", "device", "hosts", "ppn", "bind")  # by what others printed
_OF_SAMPLES = ("cadence", "timing")  # values that a tool reports have neither
OF_SOURCES = ("origin", "ranks_assumed")  # decide whether a value was stated
NONE = "-"
UNSTATED = "not stated"
_WORDS = {"shm": "shared memory", "posix": "POSIX shared memory", "sysv": "System V shared memory", "tcp": "TCP"}
OPEN = ("auto", UNSTATED)  # levels that name no path: the library chose it, or a log does not state it
ASSUMED = " (assumed)"
# the second column adds nothing if every value of the first goes with one value of the second
_IMPLIED_BY = (
    ("library", "launcher"),
    ("library", "engine"),
    ("library", "option_tool"),
    ("engine", "option_tool"),
    ("option_cadence", "cadence"),
    ("option_timing", "timing"),
    ("host", "cpu_model"),
)


def stated(values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Return settings of a point; those that no log states are *not stated* instead of a default of labkit's.

    Examples
    --------
    >>> stated({"transport": "auto", "bind": "core"}, "imported")
    {'transport': 'not stated', 'bind': 'core'}
    """
    if origin not in BROUGHT:
        return dict(values)
    return {name: UNSTATED if value in ("auto", "unknown") else value for name, value in values.items()}


def differing(rows: pd.DataFrame, *, skip: Sequence[str] = ()) -> list[str]:
    """Return the columns, apart from the size, that distinguish points of one benchmark and so label them.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    skip : columns that are shown elsewhere.

    Returns
    -------
    Names in a fixed order; the last is ``fingerprint`` where points of one size differ in nothing else.
    """
    if len(rows) < 2:
        return []
    given, sources = [name for name in rows if name.startswith(GIVEN)], _sources(rows)
    there = (name for name in (*SETTING, *_WHERE, *given) if name in rows)
    found = {name: worded(rows, name, sources) for name in there}  # missing is a level too
    varied = [
        name for name, (_, levels) in found.items() if len(levels) - (NONE in levels if name in _OF_SAMPLES else 0) > 1
    ]
    implied = {
        second
        for first, second in _IMPLIED_BY
        if {first, second} <= {*varied} and one_each(found[first][0], found[second][0])
    }
    names = [name for name in varied if name not in implied]
    keys = [found[name][0] for name in names]
    if "message_size_B" in rows:
        keys.append(distinct(rows["message_size_B"])[0])
    if "fingerprint" in rows and keys and not one_each(together(*keys), distinct(rows["fingerprint"])[0]):
        names.append("fingerprint")
    return [name for name in names if name not in skip]


def distinct(column: pd.Series) -> tuple[NDArray[np.intp], list[Any]]:
    """Return for each row the index of its value among the distinct values, and these in order of occurrence."""
    if column.dtype == object and len({*map(type, column)}) > 1:
        known: dict[Any, int] = {}  # True is 1 and 1.0, but each has a separate text
        codes = [known.setdefault((type(value), value), len(known)) for value in column]
        return np.array(codes, np.intp), [value for _, value in known]
    places, values = pd.factorize(column, use_na_sentinel=False)
    return places, values.tolist()


def plain(column: pd.Series) -> NDArray[Any]:
    """Return the values of a column as an array; of a category, equal ones are one object."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column)
    values: NDArray[Any] = np.array([*column.cat.categories.tolist(), math.nan], object)
    return np.asarray(values[column.cat.codes.to_numpy()])


def noted(cells: pd.Series) -> tuple[NDArray[np.intp], list[tuple[Note, ...]]]:
    """`distinct` of lists of notes; lists that are one object are not compared."""
    codes, objects = by_identity(cells.tolist())
    known: dict[tuple[Note, ...], int] = {}
    same = np.array([known.setdefault(one, len(known)) for one in objects], np.intp)
    return same[codes], list(known)


def coded(column: pd.Series) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the index of each row's level, and the levels: whole numbers unchanged, anything else as text."""
    codes, values = distinct(column)
    if column.dtype.kind in "iu":
        return codes, values
    merged, levels = pd.factorize(np.array([level(value) for value in values], object))
    return merged[codes], levels.tolist()


def together(*codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a code for each row that is equal where all of some codes are; numbered in the order they occur in."""
    both = codes[0]
    for more in codes[1:]:
        both = pd.factorize(both * (more.max(initial=0) + 1) + more)[0]
    return both


def alike(rows: pd.DataFrame, factors: Sequence[str]) -> list[NDArray[np.intp]]:
    """Return the places of the rows of each combination of levels of factors, in the order they occur in."""
    if not len(rows):
        return []
    codes = together(np.zeros(len(rows), np.intp), *(coded(rows[name])[0] for name in factors))
    places = np.argsort(codes, kind="stable")
    return np.split(places, np.flatnonzero(np.diff(codes[places])) + 1)


def worded(
    rows: pd.DataFrame, name: str, sources: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], list[str]]:
    """Return for each row the place of its text, as `text` has it, and the texts.

    Parameters
    ----------
    sources : a code of what decides whether the values of each row were stated, if it is known.
    """
    columns = [rows.get(c) for c in (name, *OF_SOURCES)]
    own, sources = distinct(rows[name])[0], _sources(rows) if sources is None else sources
    codes = together(own, sources) if sources.any() else own
    firsts = np.unique(codes, return_index=True)[1].tolist() if codes.any() else [0][: len(rows)]
    facts = [[None] * len(firsts) if c is None else [c.array[place] for place in firsts] for c in columns]
    words = [_text(name, *values) for values in zip(*facts, strict=True)]
    if len(words) < 2:
        return codes, words
    merged, levels = pd.factorize(np.array(words, object))
    return merged[codes], levels.tolist()


def _sources(rows: pd.DataFrame) -> NDArray[np.intp]:
    """Return a code for each row that is equal where the sources of values are."""
    return together(np.zeros(len(rows), np.intp), *(distinct(rows[name])[0] for name in OF_SOURCES if name in rows))


def one_each(first: NDArray[np.intp], second: NDArray[np.intp]) -> bool:
    """Return whether every value of the first column goes with one value of the second."""
    return bool(together(first, second).max(initial=-1) == first.max(initial=-1))


def setting(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return levels of a point in words, those that it has: ``transport shm, library MPICH 4.0.2``."""
    levels = {name: words for name in columns if (words := text(row, name)) != NONE}
    return ", ".join(
        testbed_words.labelled(words, imported=row.get("origin") in BROUGHT)
        if name == "testbed"
        else f"{named(name)} {words}"
        for name, words in levels.items()
    )


def named(column: str) -> str:
    """Return the name on the command line of a column of options or variables.

    Examples
    --------
    >>> named("option_sync"), named("env_OMPI_MCA_btl"), named("bind")
    ('sync', 'OMPI_MCA_btl', 'bind')
    """
    for prefix in GIVEN:
        column = column.removeprefix(prefix)
    return column


def texts(rows: pd.DataFrame, name: str) -> pd.Series:
    """Return the level of a factor in each row, as `text` does."""
    codes, words = worded(rows, name)
    return pd.Series(np.array(words, object)[codes], index=rows.index, dtype=object)


def text(row: Mapping[Any, Any], name: str) -> str:
    """Return the level of a factor in a row for people, with marks for missing and assumed values.

    Examples
    --------
    >>> text({"origin": "imported", "option_window": None}, "option_window")
    'not stated'
    >>> text({"origin": "imported", "ranks": 2, "ranks_assumed": True}, "ranks")
    '2 (assumed)'
    """
    return _text(name, row.get(name), row.get("origin"), row.get("ranks_assumed"))


def _text(name: str, value: Any, origin: Any, assumed: Any) -> str:
    words = level(value)
    if origin not in BROUGHT:
        return words
    if name in _NEVER_STATED or (name.startswith(GIVEN[0]) and pd.isna(value)):
        return UNSTATED
    return words + ASSUMED if name == "ranks" and assumed is not None and bool(assumed) else words


def level(value: Any) -> str:
    """Text of a value that labels a point; a dash for none."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()  # as command lines have it
    if isinstance(value, float):
        return NONE if math.isnan(value) else format_exact(value)
    return str(value) if value is not None and str(value) else NONE


def path_name(transport: str, testbed: str) -> str:
    """Return a path in words.

    Examples
    --------
    >>> path_name("tcp", "local"), path_name("auto", "soft-roce,loss=1"), path_name("auto", "local")
    ('TCP', 'soft-RoCE (1 % of loss)', '')
    """
    parts = [
        "" if transport in OPEN else _WORDS.get(transport, transport),
        "" if testbed == "local" else testbed_words.in_words(testbed),
    ]
    return ", ".join(part for part in parts if part)
