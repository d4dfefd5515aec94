"""The formats that `labkit import` knows, and by which lines a text of each is recognised."""

from __future__ import annotations

import re
from types import ModuleType

from labkit.formats import imb, logs, omb

FORMATS: dict[str, ModuleType] = {"OMB": omb, "IMB": imb}  # of any length, read in pieces; all others are logs
_LABEL = r"^(?: *\d{1,7}: |\[[\d,]+\](?:<std\w+>:?)? ?)?"
BEGINS = {
    kind: re.compile(f"{_LABEL}(?:{begins})", re.MULTILINE)
    for kind, begins in [
        *((kind, rf"[ \t]*(?:{form.BEGINS})") for kind, form in FORMATS.items()),  # tables may be indented
        *((kind, log.begins.pattern) for kind, log in logs().items()),
    ]
}
# a search for these comes first, because it is much faster
MARKS = {kind: form.MARKS for kind, form in FORMATS.items()} | {kind: log.marks for kind, log in logs().items()}


def begun(text: str) -> set[str]:
    """Return the formats of which a line of a text begins an output."""
    return {kind for kind, form in BEGINS.items() if any(mark in text for mark in MARKS[kind]) and form.search(text)}


def known(text: str) -> set[str]:
    """Return the formats of which a line of a text begins an output; if there are none, those that have such a row."""
    return begun(text) or {kind for kind, log in logs().items() if any(map(log.rows, text.split("\n")))}
