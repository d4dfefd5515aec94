"""Take from the small print of a figure what the figure before it in the chapter says too."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from labkit.figures.style import FITS, note
from labkit.report import figures

_LINE = 18  # px of a line of small print
_LARGEST = 100  # lines of a note that are looked at
_OWN = ("campaign ", "not drawn", "the others", "n=")  # clauses that each figure keeps
_CLAUSES = "; "  # between the clauses of a figure's note
_PART = re.compile(r'<br><span style="[^"]*">([^<]*)</span>')


def shorten(books: Sequence[Any]) -> list[dict[str, Any]]:
    """Take clauses from the notes below axes that the note of the figure before has; return the figures that changed.

    Parameters
    ----------
    books : executed notebooks as they were read; they are changed.
    """
    changed = []
    for book in books:
        before: set[str] = set()
        for bundle in _figures(book):
            said = _note(bundle[figures.PLOTLY])
            rest = [[one for one in part if one not in before or one.startswith(_OWN)] for part in said]
            if rest != said:
                _write(bundle[figures.PLOTLY], [_CLAUSES.join(part) for part in rest if part])
                changed.append(bundle)
            before = {one for part in said for one in part}
    return changed


def _figures(book: Any) -> Iterator[dict[str, Any]]:
    """Yield the figures of a notebook in all their forms."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if figures.PLOTLY in output.get("data", {}):
                yield output["data"]


def _title(spec: Any) -> Any:
    """Return the title of the axis to the right; an empty one where there is none, or several axes."""
    layout = spec.get("layout") or {}
    axis = layout.get("xaxis") if isinstance(layout, dict) and "xaxis2" not in layout else None
    title = axis.get("title") if isinstance(axis, dict) else None
    return title if isinstance(title, dict) else {}


def _note(spec: Any) -> list[list[str]]:
    """Return the clauses of each sentence of the note below the axis to the right; nothing where there is none."""
    lines = [html.unescape(one) for one in _PART.findall(str(_title(spec).get("text") or ""))][:_LARGEST]
    parts: list[str] = []
    for number, line in enumerate(lines):
        if number and len(lines[number - 1]) + 1 + len(line.split(" ")[0]) > FITS:  # broken to fit
            parts[-1] += f" {line}"
        else:
            parts.append(line)
    return [part.split(_CLAUSES) for part in parts]


def _write(spec: Any, lines: Sequence[str]) -> None:
    """Write the note anew; a figure is lower by the lines that are gone."""
    title, layout = _title(spec), spec["layout"]
    text = str(title["text"])
    head = text.partition(_PART.search(text)[0])[0]  # type: ignore[index]
    title["text"] = note(head, *lines)
    gone = text.count("<br>") - title["text"].count("<br>")
    if isinstance(layout.get("height"), int | float):
        layout["height"] -= _LINE * gone
