"""Checked access to JSON that a tool printed: a missing or wrong entry is an error that names its place."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from labkit.errors import DataError
from labkit.formats.reading.log import REMEDY
from labkit.formats.reading.values import malformed
from labkit.io.safe_read import once, plainly

DEEPEST = 100  # levels of objects and lists


@dataclass(frozen=True)
class Entry:
    """A value of a JSON document.

    Parameters
    ----------
    value : as `json` gives it.
    where : how errors call the document.
    remedy : what the user can do if the document is wrong; empty for the output of a program that labkit started.
    place : place of the value in the document, such as ``jobs[0].read``; empty for the whole.

    Examples
    --------
    >>> jobs = Entry({"jobs": [{"error": 0}]}, "output")["jobs"].items()
    >>> jobs[0]["error"].whole()
    0
    >>> jobs[0]["read"]
    Traceback (most recent call last):
    labkit.errors.DataError: output: found 'no read in jobs[0]', wanted this entry.
    """

    value: Any
    where: str
    remedy: str = ""
    place: str = ""

    def __contains__(self, key: str) -> bool:
        """Return whether the value, an object, has an entry that is not null."""
        return self.table().get(key) is not None

    def __getitem__(self, key: str) -> Entry:
        """Return an entry of an object; it must be there."""
        table = self.table()
        if key not in table:
            found = f"no {key[:80]} in {self.place or 'the document'}"
            raise malformed(self.where, 0, found, "this entry", self.remedy)
        return self._inside(table[key], f".{key}")

    def get(self, key: str, absent: Any) -> Entry:
        """Return an entry of an object, or an entry with another value if it is missing or null."""
        return self[key] if key in self else self._inside(absent, f".{key}")

    def _inside(self, value: Any, step: str) -> Entry:
        return replace(self, value=value, place=f"{self.place}{step}".removeprefix("."))

    def table(self) -> dict[str, Any]:
        """Return the value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def items(self) -> list[Entry]:
        """Return the values of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [self._inside(value, f"[{k}]") for k, value in enumerate(self.value)]

    def integers(self) -> list[int]:
        """Return the values of a list, which must be whole numbers of at most 64 bits."""
        values = [one.value for one in self.items()]
        if not all(type(value) is int and abs(value) < 2**63 for value in values):
            raise self.wrong("a list of whole numbers")
        return values

    def real(self) -> float:
        """Return the value, which must be a finite number."""
        value = self.value
        # comparing is safe for whole numbers that no float can hold
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            raise self.wrong("a finite number")
        return float(value)

    def whole(self) -> int:
        """Return the value, which must be a whole number, 0 or more."""
        number = self.real()
        if number < 0 or number != int(number):
            raise self.wrong("a whole number, 0 or more")
        return int(self.value)

    def wrong(self, wanted: str) -> DataError:
        """Return the error for this value."""
        if isinstance(self.value, dict | list):
            found = "an object" if isinstance(self.value, dict) else "a list"
        else:
            found = json.dumps(self.value, ensure_ascii=False)[:80]
        found = f"{self.place or 'the document'}: {found}"
        return malformed(self.where, 0, found, wanted, self.remedy)


def document(text: str, where: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Entry:
    """Return the first JSON value of a text that may have lines above and below it.

    Parameters
    ----------
    pairs : makes an object from its keys and values, for a format that knows what a repeated key means.

    Raises
    ------
    DataError
        If the text holds no JSON value, the value is truncated, or an object repeats a key.
    """
    start = re.search(r"^[\[{]", text.removeprefix("\ufeff"), re.MULTILINE)
    body = text.removeprefix("\ufeff")[start.start() :] if start else ""
    try:
        decoder = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=pairs or once)
        value, _ = decoder.raw_decode(body)
    except json.JSONDecodeError as error:
        line = error.lineno + (text[: start.start()].count("\n") if start else 0)
        raise malformed(where, line, body[error.pos : error.pos + 80] or "its end", "JSON", REMEDY) from error
    except RecursionError:
        raise _too_deep(body, where) from None
    except ValueError as error:
        raise malformed(where, 0, plainly(error)[:120], "finite numbers, and every key once", REMEDY) from error
    level = [value]
    for _ in range(DEEPEST):
        level = [one for each in level if isinstance(each, dict | list) for one in _values(each)]
    if level:
        raise _too_deep(body, where)
    return Entry(value, where, REMEDY)


def _values(each: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return each.values() if isinstance(each, dict) else each


def _too_deep(body: str, where: str) -> DataError:
    return malformed(where, 0, body[:80], f"JSON with at most {DEEPEST} levels", REMEDY)


def _no_number(word: str) -> float:
    raise ValueError(word)


def last_line(text: str, where: str) -> Entry:
    """Return the JSON value in the last line of a text, which labkit's own programs end with.

    Raises
    ------
    DataError
        If the line is no JSON.
    """
    line = text.strip().rpartition("\n")[2]
    try:
        return Entry(json.loads(line), where)
    except (ValueError, RecursionError) as error:
        raise malformed(where, 0, line[-200:], "one JSON object") from error
