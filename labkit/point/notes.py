"""Notes: badges, warnings and reasons as records of a code, a text and the values in the text.

A note stays a record until it is shown. Only `joined` makes one text of several notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Scalar = str | int | float | bool
BETWEEN = "; "  # between notes that are printed in one line
LONGEST = 100  # characters of a code
FUNCTIONAL = "functional, not performance"  # end of a badge that denies a statement about performance
NO_SPEED = frozenset({"functional", "gpu-stand-in"})  # codes of such badges
# codes of badges that do not follow from their words
_CODES = (
    (re.compile(rf"stand-in for a GPU: {FUNCTIONAL}"), "gpu-stand-in"),
    (re.compile(rf".*{FUNCTIONAL}"), "functional"),
    (re.compile(r"\S+ stands in for \S+"), "stand-in"),
)


@dataclass(frozen=True)
class Note:
    """Something that a reader of a number must know.

    Parameters
    ----------
    code : names the kind for programs, such as ``busy-machine``.
    text : for people, with the values in it.
    values : name → value in the text.
    """

    code: str
    text: str
    values: tuple[tuple[str, Scalar], ...] = ()

    def __str__(self) -> str:
        return self.text

    def value(self, name: str) -> Scalar | None:
        """A value by its name; None if the note has no such value."""
        return dict(self.values).get(name)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"code": self.code, "text": self.text, "values": dict(self.values)}


def note(code: str, text: str, /, **values: Scalar) -> Note:
    """Make a note.

    Examples
    --------
    >>> note("few-iterations", "5 iterations instead of 10", have=5, wanted=10).value("have")
    5
    """
    return Note(code, text, tuple(values.items()))


def badge(text: str, /, **values: Scalar) -> Note:
    """Make a badge; its code follows from its words.

    Examples
    --------
    >>> badge("busy machine").code, badge("iperf3 stands in for netperf").code
    ('busy-machine', 'stand-in')
    """
    code = next((code for pattern, code in _CODES if pattern.fullmatch(text)), "")
    slug = code or re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST]
    return Note(slug, text, tuple(values.items()))


def texts(notes: Iterable[object]) -> tuple[str, ...]:
    """Texts of notes."""
    return tuple(str(one) for one in notes)


def joined(notes: Iterable[object]) -> str:
    """Notes, or other texts, as one text. This is for printing only; nothing splits it again."""
    return BETWEEN.join(filter(None, texts(notes)))


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def once(many: Iterable[Iterable[Note]]) -> tuple[Note, ...]:
    """All notes of several points in their order, each text once."""
    by_text: dict[str, Note] = {}
    for notes in many:
        for one in notes:
            by_text.setdefault(one.text, one)
    return tuple(by_text.values())


def has(notes: Iterable[Note], code: str) -> bool:
    """Whether any note is of a kind."""
    return any(one.code == code for one in notes)


# ---- in files --------------------------------------------------------------------------------------------------------


def details(notes: Iterable[Note]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the text of each note with its code and values, as the metadata of samples hold them."""
    for one in notes:
        yield one.text, [one.code, dict(one.values)]


def known(given: Iterable[str], about: Mapping[str, Sequence[Any]]) -> tuple[Note, ...]:
    """Make notes from their texts and from their codes and values, which `details` yielded.

    Parameters
    ----------
    given : texts of the notes.
    about : text → code and values.
    """
    described = ((text, *about[text]) for text in given)
    return tuple(Note(code, text, tuple(values.items())) for text, code, values in described)


def check(about: object, *given: Iterable[str]) -> str:
    """Say why a value is not a mapping of what `details` yields, for these texts; empty if it is."""
    if not isinstance(about, dict):
        return "no table"
    for entry in about.values():
        if not (isinstance(entry, list) and len(entry) == 2):
            return f"{str(entry)[:80]!r} is not a pair of a code and its values"
        code, values = entry
        if not (isinstance(code, str) and len(code) <= LONGEST and isinstance(values, dict)):
            return f"{str(entry)[:80]!r} is not a pair of a code and its values"
        if not all(isinstance(value, str | int | float) for value in values.values()):
            return f"the values of {code!r} are not plain"
    bare = [text for texts in given for text in texts if text not in about]
    return f"no code for {bare[0][:80]!r}" if bare else ""


def packed(notes: Iterable[Note]) -> list[dict[str, str]]:
    """Notes for a column of Arrow lists. Their values are one JSON object, because types differ from note to note."""
    return [{"code": one.code, "text": one.text, "values": json.dumps(dict(one.values))} for one in notes]


def unpacked(cell: object) -> tuple[Note, ...]:
    """Read notes from a cell that `packed` filled.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if cell is None or isinstance(cell, float):  # an empty cell
        return ()
    notes = [_unpacked(one) for one in cell] if isinstance(cell, Iterable) else [None]
    if None in notes:
        raise ValueError(f"no list of notes: {str(cell)[:80]!r}")
    return tuple(filter(None, notes))


def _unpacked(one: object) -> Note | None:
    """Read a note that `packed` made; None if it is something else."""
    if not isinstance(one, Mapping) or not all(isinstance(one.get(key), str) for key in ("code", "text", "values")):
        return None
    try:
        values = json.loads(one["values"])
    except ValueError:
        return None
    return Note(one["code"], one["text"], tuple(values.items())) if isinstance(values, dict) else None
