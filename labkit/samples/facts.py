"""What the metadata of samples hold under which key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from labkit import notes
from labkit.notes import Note

NOTES = "notes"  # text → code and values of the badges and warnings beside it


def noted(badges: Iterable[Note], warnings: Iterable[Note]) -> dict[str, Any]:
    """Badges and warnings as metadata hold them: their texts, as in every file of format 1, and what the texts are."""
    both = {"badges": list(badges), "warnings": list(warnings)}
    about = {text: entry for each in both.values() for text, entry in notes.told(each)}
    return {name: [one.text for one in each] for name, each in both.items()} | ({NOTES: about} if about else {})


def badges(meta: Mapping[str, Any]) -> tuple[Note, ...]:
    """Badges of a point; files from before notes had codes hold the texts alone."""
    return notes.known(meta.get("badges") or (), meta.get(NOTES) or {}, badges=True)


def warnings(meta: Mapping[str, Any]) -> tuple[Note, ...]:
    """Warnings of a point; files from before notes had codes hold the texts alone."""
    return notes.known(meta.get("warnings") or (), meta.get(NOTES) or {})
