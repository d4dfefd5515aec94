"""Finds in what the points of a benchmark differ: settings, options, variables, and where they ran."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from labkit.records.aggregate import GIVEN
from labkit.samples.facts import BROUGHT
from labkit.units import format_exact

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
_OF_SOURCES = ("origin", "ranks_assumed")  # decide whether a value was stated
NONE = "-"
UNSTATED = "not stated"
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
    """Return the columns beside the size in which points of one benchmark differ, and which therefore label them.

    Parameters
    ----------
    rows : of one benchmark, from `labkit.records.summary`.
    skip : columns that are shown elsewhere.

    Returns
    -------
    Names in a fixed order; the last is ``fingerprint`` where points of one size differ in nothing else.
    """
    given = [name for name in rows if name.startswith(GIVEN)]
    one_source = all(_constant(rows[name]) for name in _OF_SOURCES if name in rows)
    found = {  # a missing value is a level too
        name: texts(rows, name).tolist()
        for name in (*SETTING, *_WHERE, *given)
        if name in rows and not (one_source and _constant(rows[name]))  # its text is that of all rows
    }
    varied = [name for name in found if len({*found[name]} - ({NONE} if name in _OF_SAMPLES else set())) > 1]
    implied = {
        second
        for first, second in _IMPLIED_BY
        if {first, second} <= {*varied} and _one_each(found[first], found[second])
    }
    names = [name for name in varied if name not in implied]
    keys: list[list[Any]] = [found[name] for name in names]
    if "message_size_B" in rows:
        keys.append(rows["message_size_B"].tolist())
    if "fingerprint" in rows and keys and not _one_each([*zip(*keys, strict=True)], rows["fingerprint"].tolist()):
        names.append("fingerprint")
    return [name for name in names if name not in skip]


def _constant(values: pd.Series) -> bool:
    """Return whether all values are surely equal. This is much faster than comparing their texts."""
    if values.dtype == object and len({*map(type, values)}) > 1:
        return False  # True is 1 and 1.0, but each has a text of its own
    return bool(values.nunique(dropna=False) <= 1)


def _one_each(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether every value of the first column goes with one value of the second."""
    return len({*zip(first, second, strict=True)}) == len({*first})


def setting(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return levels of a point in words, those that it has: ``transport shm, library MPICH 4.0.2``."""
    return ", ".join(f"{named(name)} {words}" for name in columns if (words := text(row, name)) != NONE)


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
    columns = [rows[c].tolist() if c in rows else [None] * len(rows) for c in (name, *_OF_SOURCES)]
    words = [_text(name, *facts) for facts in zip(*columns, strict=True)]
    return pd.Series(words, index=rows.index, dtype=object)


def text(row: Mapping[Any, Any], name: str) -> str:
    """Return the level of a factor in a row for people, with what a log does not state or labkit assumed.

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
    if name in _NEVER_STATED or (name.startswith(GIVEN[0]) and (value is None or value != value)):
        return UNSTATED
    return words + ASSUMED if name == "ranks" and assumed is not None and bool(assumed) else words


def level(value: Any) -> str:
    """Text of a value that labels a point; a dash for none."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()  # as command lines have it
    if isinstance(value, float):
        return NONE if math.isnan(value) else format_exact(value)
    return str(value) if value is not None and str(value) else NONE
