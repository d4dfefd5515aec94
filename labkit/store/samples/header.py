"""Parses and checks the metadata of a samples file. The file may come from anybody."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.errors import DataError, SpecError
from labkit.io import safe_read
from labkit.point import notes
from labkit.point.spec import Effort, Reported, Spec
from labkit.store.samples import facts

ORIGINS = ("measured", "reported", "imported", "published", "simulated", "modelled")
MOST = 64 << 20  # B; what a tool printed is a part of it
DEEPEST = 64  # levels of lists and tables
_KINDS: Mapping[str, type] = {
    "spec": dict,
    "effort": dict,
    "host": dict,
    "launch": int,
    "origin": str,
    "meta": dict,
    "reported": list,
    "source": str,
}
_TEXTS = ("benchmark", "launcher", "transport", "device", "testbed", "bind")


def plain(text: bytes) -> dict[str, Any]:
    """Parse a text as a JSON object of bounded length and depth.

    Raises
    ------
    ValueError
        If it is not one.
    """
    if len(text) > MOST:
        raise ValueError(f"longer than {MOST:,} B")
    try:
        header = json.loads(text)
    except RecursionError:
        raise ValueError(f"more than {DEEPEST} levels deep") from None
    except ValueError as error:
        raise ValueError(safe_read.plainly(error)) from error
    if not isinstance(header, dict):
        raise ValueError("no object of JSON")
    # few brackets cannot nest deeply: most files are spared the walk
    if text.count(b"{") + text.count(b"[") > DEEPEST * 4 and not _shallow(header):
        raise ValueError(f"more than {DEEPEST} levels deep")
    return header


def parsed(text: bytes, where: object) -> dict[str, Any]:
    """Parse the metadata of a samples file.

    Parameters
    ----------
    where : how an error calls the file.

    Raises
    ------
    DataError
        If they are not a JSON object.
    """
    try:
        return plain(text)
    except ValueError as error:
        raise DataError(
            f"{where}: its metadata are not from labkit: {error}. Restore it from a copy, or delete it."
        ) from error


def checked(header: Mapping[str, Any], where: object) -> dict[str, Any]:
    """Return the fields of `labkit.store.samples.Samples` from metadata of format 1.

    Raises
    ------
    DataError
        If a field is missing or of another type. The message names it.
    """
    try:
        _expect(header, _KINDS, required=True)
        meta, launch = header["meta"], header["launch"]
        for text in facts.wrong(meta):
            raise DataError(f"{text}.")
        _require(0 <= launch < 2**31, f"launch={launch}", "a whole number, 0 or more")
        _require(header["origin"] in ORIGINS, f"origin={header['origin']!r}", f"one of {', '.join(ORIGINS)}")
        for fact in (facts.BADGES, facts.WARNINGS):
            _require(all(isinstance(v, str) for v in fact.of(meta)), fact.name, "a list of texts")
        if why := notes.check(facts.NOTES.of(meta), facts.BADGES.of(meta), facts.WARNINGS.of(meta)):
            raise DataError(f"notes: {why}, but it must have the code and values of each badge and warning.")
        return {
            **{name: header[name] for name in ("host", "launch", "origin", "meta", "source")},
            "spec": spec(header["spec"]),
            "effort": effort(header["effort"]),
            "reported": tuple(map(_reported, header["reported"])),
        }
    except (SpecError, DataError) as error:
        raise DataError(
            f"{where}: its metadata are not from labkit: {error} Restore it from a copy, or delete it."
        ) from error


def reported(listed: Sequence[Any], where: object) -> tuple[Reported, ...]:
    """Return the values that a tool reported.

    Raises
    ------
    DataError
        If one of them is not as labkit writes it.
    """
    try:
        return tuple(map(_reported, listed))
    except DataError as error:
        raise DataError(
            f"{where}: its metadata are not from labkit: {error} Restore it from a copy, or delete it."
        ) from error


def _require(valid: bool, given: str, wanted: str) -> None:
    if not valid:
        raise DataError(f"{given[:200]}, but it must be {wanted}.")


def _expect(values: Mapping[str, Any], kinds: Mapping[str, type], *, required: bool = False) -> None:
    """Refuse a value of another type, or a required one that is missing."""
    for name, kind in kinds.items():
        if name not in values:
            _require(not required, f"{name} is missing", f"there, of type {kind.__name__}")
            continue
        value = values[name]
        valid = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        _require(valid, f"{name}={value!r}", f"of type {kind.__name__}")


def _only(values: Mapping[str, Any], kind: type, *needed: str) -> None:
    """Refuse a name that a dataclass does not have, and a needed one that is missing."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in values:
        _require(name in known, f"{kind.__name__.lower()} has {name!r}", f"one of {', '.join(known)}")
    for name in needed:
        _require(name in values, f"{kind.__name__.lower()} has no {name}", "there")


def effort(values: Mapping[str, Any]) -> Effort:
    """Return the effort of a point.

    Raises
    ------
    DataError, SpecError
        If a value is unknown or out of its range.
    """
    _only(values, Effort)
    return Effort(**values)


def spec(values: Mapping[str, Any]) -> Spec:
    """Return the spec of a point; refuse values that are not texts or plain values.

    Raises
    ------
    DataError, SpecError
        If there are any.
    """
    _only(values, Spec, "benchmark")
    _expect(values, dict.fromkeys(_TEXTS, str))
    _expect(values, {"options": dict, "environment": dict, "hosts": list, "size": int, "ranks": int, "ppn": int})
    for name in ("size", "ranks", "ppn"):
        _require(0 <= values.get(name, 1) < 2**63, f"{name}={values.get(name)}", "a whole number below 2^63")
    texts = [*values.get("hosts", []), *values.get("environment", {}).values()]
    _require(all(isinstance(text, str) for text in texts), f"hosts or environment {texts!r}", "texts")
    for name, value in values.get("options", {}).items():
        _require(isinstance(value, str | int | float | None), f"option {name}={value!r}", "a plain value")
    return Spec.from_dict(values)


def _reported(values: Mapping[str, Any]) -> Reported:
    """Return a value that a tool reported, with its types checked."""
    _require(isinstance(values, dict), f"a reported value is {values!r}", "a table")
    _only(values, Reported, "name", "unit", "statistic", "value")
    reported = Reported(**values)
    for name in ("name", "unit", "statistic"):
        text = getattr(reported, name)
        _require(isinstance(text, str), f"{name} of a reported value is {text!r}", "a text")
    numbers = {"value": reported.value, "rank": reported.rank, "t": reported.t}
    for name, value in numbers.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2.0**1000
        unset = value is None and name != "value"
        _require(
            number or unset or (isinstance(value, float) and math.isnan(value)),
            f"{name} of {reported.name} is {value!r}",
            "a number",
        )
    _require(isinstance(reported.labels, dict), f"labels of {reported.name} are {reported.labels!r}", "a table")
    valid = all(isinstance(label, str | int | float | None) for label in reported.labels.values())
    _require(valid, f"labels of {reported.name} are {reported.labels!r}", "plain values")
    return reported


def _shallow(value: object) -> bool:
    """Return whether lists and tables nest at most `DEEPEST` levels. Does not recurse."""
    containers: list[Any] = [value]
    for _ in range(DEEPEST):
        inner = [v for each in containers for v in (each.values() if isinstance(each, dict) else each)]
        containers = [v for v in inner if isinstance(v, dict | list)]
        if not containers:
            return True
    return False
