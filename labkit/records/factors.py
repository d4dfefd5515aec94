"""Finds in what the points of a benchmark differ: settings, options, variables, and where they ran."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.records.aggregate import GIVEN
from labkit.units import format_exact

if TYPE_CHECKING:
    import pandas as pd

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
_OF_SAMPLES = ("cadence", "timing")  # values that a tool reports have neither
NONE = "-"
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
    texts = {  # a missing value is a level too
        name: [level(value) for value in rows[name].tolist()] for name in (*SETTING, *_WHERE, *given) if name in rows
    }
    varied = [name for name in texts if len({*texts[name]} - ({NONE} if name in _OF_SAMPLES else set())) > 1]
    implied = {
        second
        for first, second in _IMPLIED_BY
        if {first, second} <= {*varied} and _one_each(texts[first], texts[second])
    }
    names = [name for name in varied if name not in implied]
    keys: list[list[Any]] = [texts[name] for name in names]
    if "message_size_B" in rows:
        keys.append(rows["message_size_B"].tolist())
    if "fingerprint" in rows and keys and not _one_each([*zip(*keys, strict=True)], rows["fingerprint"].tolist()):
        names.append("fingerprint")
    return [name for name in names if name not in skip]


def _one_each(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether every value of the first column goes with one value of the second."""
    return len({*zip(first, second, strict=True)}) == len({*first})


def setting(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return levels of a point in words, those that it has: ``transport shm, library MPICH 4.0.2``."""
    return ", ".join(f"{named(name)} {text}" for name in columns if (text := level(row[name])) != NONE)


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


def level(value: Any) -> str:
    """Text of a value that labels a point; a dash for none."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()  # as command lines have it
    if isinstance(value, float):
        return NONE if math.isnan(value) else format_exact(value)
    return str(value) if value is not None and str(value) else NONE
