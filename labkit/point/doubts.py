"""Summarise badges and warnings of many points in few lines: those that differ only in their numbers are one kind."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence

from labkit.point.notes import Note

# not in a word or a version: iperf3 is not an iperf2
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")
_UNIT = re.compile(r"\s?%")  # stays with its number
_DIGITS = 2  # after the point, at most


def kinds(points: Iterable[Iterable[Note]]) -> list[tuple[Note, int]]:
    """Notes of points with how many points have them; notes that differ only in their numbers are one kind.

    A number that differs between the notes of a kind is given by its median and range.

    Examples
    --------
    >>> from labkit.point.notes import badge
    >>> found = kinds([[badge("load 2.5"), badge("virtual machine")], [badge("load 3.1")], [badge("load 9.0")]])
    >>> [(str(note), count) for note, count in found]
    [('load 3.1 (median; range 2.5 to 9.0)', 3), ('virtual machine', 1)]
    """
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    codes: dict[tuple[str, ...], str] = {}
    split: dict[str, tuple[tuple[str, ...], list[str]]] = {}
    for notes in points:
        parts: dict[tuple[str, ...], list[str]] = {}
        for one in notes:
            if one.text:
                if one.text not in split:
                    split[one.text] = tuple(_NUMBER.split(one.text)), _NUMBER.findall(one.text)
                words, parts[words] = split[one.text]
                codes.setdefault(words, one.code)
        for words, numbers in parts.items():
            groups.setdefault(words, []).append(numbers)
    return [
        (Note(codes[words], _text(words, list(zip(*numbers, strict=True)))), len(numbers))
        for words, numbers in groups.items()
    ]


def _text(words: Sequence[str], numbers: Sequence[Sequence[str]]) -> str:
    """The words of a kind, with its numbers or their ranges between them."""
    text, rest = "", words[0]
    for values, word in zip(numbers, words[1:], strict=True):
        unit = _UNIT.match(word)
        text += rest + _range(values, unit[0] if unit else "")
        rest = word[unit.end() :] if unit else word
    return text + rest


def _range(values: Sequence[str], unit: str) -> str:
    """Median and range of the values, with as many digits as they have; one value if all are the same."""
    if len(set(values)) == 1:
        return values[0] + unit
    digits = min(_DIGITS, max(len(value.partition(".")[2]) for value in values))
    each = sorted(float(value.replace(",", "")) for value in values)
    low, middle, high = (f"{value:,.{digits}f}" for value in (each[0], statistics.median(each), each[-1]))
    return f"{middle}{unit} (median; range {low} to {high}{unit})"
