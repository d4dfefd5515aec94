"""Say in plain words what is wrong with given values: translations of pydantic's errors."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.errors import alike
from labkit.point import ranges

MOST = 5  # complaints in one message
WANTED: Mapping[str, str] = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 64 bits",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table of keys and values",
    "mapping_type": "a table of keys and values",
    "dataclass_type": "a table of keys and values",
}
UNKNOWN, MISSING = ("unexpected_keyword_argument", "extra_forbidden"), ("missing", "missing_argument")


def unknown(what: str, key: str, known: Sequence[str]) -> str:
    """Write a sentence for a key that does not exist: near matches first, then all keys.

    Examples
    --------
    >>> unknown("mpi.bandwidth", "windw", ["window", "threads"])
    "mpi.bandwidth has no 'windw'. Did you mean window? It has: threads, window."
    """
    return f"{what} has no {ranges.shown(key)}. {alike(key, known)}It has: {', '.join(sorted(known)) or 'no options'}."


def text(what: str, cls: type, errors: Sequence[Mapping[str, Any]]) -> str:
    """Write one message for all errors of a value, each with its place and what it must be.

    Parameters
    ----------
    what : how the user calls the whole, such as ``mpi.latency`` or the path of a file.
    cls : requested dataclass.
    errors : ``ValidationError.errors()`` of pydantic.
    """
    return f"{what}: {' '.join(dict.fromkeys(_sentence(cls, error) for error in errors[:MOST]))}"


def _sentence(cls: type, error: Mapping[str, Any]) -> str:
    """One error as a sentence."""
    *around, key = error["loc"] or ("",)
    place = _place(around)
    if error["type"] in UNKNOWN:
        return unknown(place or "it", str(key), list(_fields(cls, around)))
    before = f"{place}: " if place else ""
    if error["type"] in MISSING:
        return f"{before}{key} is missing. Add it."
    whole = around if isinstance(key, int) else error["loc"]  # one value of a list: the list's name and its number
    name, before = _dotted(_tail(whole)), _prefix(whole)
    name = f"value {key + 1} of {name}" if isinstance(key, int) else name
    return f"{before}{name}={ranges.shown(error['input'])}, but it must be {_wanted(error)}. Correct it."


def _wanted(error: Mapping[str, Any]) -> str:
    """What a value must be."""
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"])
    return WANTED.get(error["type"]) or str(error["msg"]).removeprefix("Input should be ")


def _tail(location: Sequence[str | int]) -> Sequence[str | int]:
    """The part of a location behind the last table of a list."""
    last = max((i for i, part in enumerate(location[:-1]) if isinstance(part, int)), default=-1)
    return location[last + 1 :]


def _prefix(location: Sequence[str | int]) -> str:
    """The tables of lists that a location is in, such as ``[[notebook]] 1: ``."""
    before = location[: len(location) - len(_tail(location))]
    return f"{_place(before)}: " if before else ""


def _place(around: Sequence[str | int]) -> str:
    """Write a location in TOML's notation, with entries of a list counted from 1."""
    parts: list[str] = []
    for part in around:
        if isinstance(part, int):
            parts[-1:] = [f"[[{'.'.join(parts[-1:])}]] {part + 1}"]
        else:
            parts.append(str(part))
    return ".".join(parts)


def _dotted(parts: Sequence[str | int]) -> str:
    return ".".join(map(str, parts))


def _fields(cls: Any, around: Sequence[str | int]) -> Iterator[str]:
    """Fields of the dataclass at a location."""
    for part in around:
        if isinstance(part, str) and dataclasses.is_dataclass(cls):
            cls = typing.get_type_hints(cls).get(part)
        else:  # an entry of a list, a value of a mapping
            cls = (typing.get_args(cls) or (None,))[-1]
    if dataclasses.is_dataclass(cls):
        yield from (field.name for field in dataclasses.fields(cls))
