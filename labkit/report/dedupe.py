"""Remove notes below a figure that the figure before it in the chapter has too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from labkit.figures import parts, small_print
from labkit.report import cleaning, figures

_OWN = frozenset(
    {"campaign", "not-drawn", "n", "thin", "dotted"}
)  # codes of notes that each figure keeps: a reader sees thin lines in each


def shorten(books: Sequence[Any]) -> list[dict[str, Any]]:
    """Remove notes below axes that the figure before has too; return the changed figures.

    Parameters
    ----------
    books : executed notebooks as they were read; they are changed.
    """
    changed = []
    for book in books:
        before: set[str] = set()
        for bundle in _figures(book):
            about = parts.read(bundle[parts.MIME])
            assert isinstance(about, parts.Described)
            kept = tuple(one for one in about.notes if one.text not in before or one.code in _OWN)
            if len(kept) < len(about.notes):
                _write(bundle, replace(about, notes=kept))
                changed.append(bundle)
            before = {one.text for one in about.notes}
    return changed


def _figures(book: Any) -> Iterator[dict[str, Any]]:
    """Yield the figures of a notebook in all their forms."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if figures.PLOTLY in output.get("data", {}):
                yield output["data"]


def _write(bundle: dict[str, Any], about: parts.Described) -> None:
    """Write the remaining notes, and reduce the height of the figure by the removed lines."""
    bundle[parts.MIME] = parts.as_json(about)
    layout = bundle[figures.PLOTLY].get("layout") or {}
    title = (layout.get(about.axis) or {}).get("title") if isinstance(layout, dict) else None
    if not isinstance(title, dict):
        return
    before, title["text"] = str(title.get("text")), small_print.rendered(cleaning.label(about.title), about.notes)
    if isinstance(layout.get("height"), int | float):
        layout["height"] -= small_print.LINE * (before.count("<br>") - title["text"].count("<br>"))
