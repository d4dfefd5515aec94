"""The small print of a figure: notes below its axis to the right, kept as records in the figure's metadata."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from labkit.figures.plotly import go, raw
from labkit.point.notes import Note, joined, note

FITS = 96  # characters in a line
LINE = 18  # px of a line
NOTES, TITLE, AXIS = "notes", "title", "note_axis"  # keys of the metadata: the notes, and the bare title of which axis
_STYLE = "font-size:12px;color:#555"  # 8 pt in the PDF


def rendered(title: str, notes: Iterable[Note | str], fits: int = FITS) -> str:
    """Return the title of an axis with notes in small print below it, broken to lines of `fits` characters."""
    parts = textwrap.wrap(joined(notes), fits)
    return title + "".join(f'<br><span style="{_STYLE}">{html.escape(part, quote=False)}</span>' for part in parts)


def write(figure: go.Figure, notes: Iterable[Note | str], axis: str = "xaxis") -> None:
    """Put notes below an axis, in place of those that the figure had; its height stays."""
    meta = dict(raw(figure)[1].get("meta") or {})
    title = meta.get(TITLE, figure.layout[axis].title.text or "")
    kept = [one if isinstance(one, Note) else note("figure", one) for one in notes if str(one)]
    if not kept and NOTES not in meta:
        return
    figure.layout.meta = meta | {NOTES: [one.as_dict() for one in kept], TITLE: title, AXIS: axis}
    figure.layout[axis].title.text = rendered(title, kept)


def retitled(figure: go.Figure, title: str) -> go.Figure:
    """Return a figure with another title of the axis to the right, above the same small print; it is changed."""
    notes = take(figure)
    figure.layout.xaxis.title.text = title
    write(figure, notes)
    return figure


def add(figure: go.Figure, *notes: Note | str) -> None:
    """Put further notes below a finished figure, which grows by their lines."""
    axis = (raw(figure)[1].get("meta") or {}).get(AXIS, "xaxis")
    before = (figure.layout[axis].title.text or "").count("<br>")
    write(figure, [*notes_of(figure), *notes], axis)
    if figure.layout.height:
        figure.layout.height += LINE * ((figure.layout[axis].title.text or "").count("<br>") - before)


def rewrite(layout: dict[str, Any], notes: Sequence[Note]) -> None:
    """Replace the notes below the axis of a figure, as plain data; the figure grows by their lines."""
    meta = dict(layout.get("meta") or {})
    axis = layout[meta.get(AXIS, "xaxis")]
    given = axis.get("title") or {}
    before = str(given.get("text") or "") if isinstance(given, dict) else str(given)
    title = str(meta.get(TITLE, before))
    axis["title"] = {**(given if isinstance(given, dict) else {}), "text": rendered(title, notes)}
    layout["meta"] = {AXIS: "xaxis", **meta, TITLE: title}
    if layout.get("height"):
        layout["height"] += LINE * (axis["title"]["text"].count("<br>") - before.count("<br>"))


def take(figure: go.Figure) -> tuple[Note, ...]:
    """Take the notes from a figure, and return them."""
    notes, meta = notes_of(figure), raw(figure)[1].get("meta") or {}
    if NOTES in meta:
        figure.layout[meta[AXIS]].title.text = meta[TITLE]
        figure.layout.meta = {key: value for key, value in meta.items() if key not in (NOTES, TITLE, AXIS)}
    return notes


def notes_of(figure: go.Figure) -> tuple[Note, ...]:
    """Return the notes of a figure."""
    return read((raw(figure)[1].get("meta") or {}).get(NOTES) or ())


def read(notes: Sequence[Any]) -> tuple[Note, ...]:
    """Return notes from what `labkit.point.notes.Note.as_dict` made of them."""
    return tuple(Note(one["code"], one["text"], tuple(one["values"].items())) for one in notes)
