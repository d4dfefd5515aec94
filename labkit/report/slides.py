"""Turn chapters into slides: each figure on a page of its own, with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbformat.v4 import new_markdown_cell

from labkit.report.abstract import finding
from labkit.report.campaigns import members
from labkit.report.notebook import Chapter
from labkit.report.options import options, written
from labkit.report.sources import Source

_BREAK = "{{< pagebreak >}}"


def shorten(chapters: Mapping[str, Chapter], sources: list[Source], most: int) -> list[str]:
    """Keep the figures of each chapter, each on a page of its own; the first one gets what the chapter found.

    Parameters
    ----------
    chapters : their cells are changed.
    most : figures of a chapter that are kept; 0 keeps all.

    Returns
    -------
    Names of the chapters that have a figure.
    """
    kept = []
    for name, chapter in chapters.items():
        drawn = [cell for cell in chapter.notebook.cells if _is_figure(cell)]
        if not drawn:
            continue
        kept.append(name)
        head = new_markdown_cell(f"{_BREAK}\n\n# {chapter.title} {{#{chapter.label}}}")
        cells: list[Any] = [head]
        for number, cell in enumerate(drawn[:most] if most else drawn):
            chosen, code = options(cell.source)
            cell.source = written({**chosen, "echo": False}, code)
            if number:
                cells.append(new_markdown_cell(f"{_BREAK}\n\n## {chapter.title} ({number + 1}) {{.unnumbered}}"))
            elif text := _sentence(chapter, sources):
                cells.append(new_markdown_cell(text))
            cells.append(cell)
        chapter.notebook.cells = cells
        shown = {str(options(cell.source)[0]["label"]) for cell in cells if _is_figure(cell)}
        chapter.csv = {file: text for file, text in chapter.csv.items() if file.partition(".")[0] in shown}
        for place, cell in enumerate(cells):
            cell["id"] = f"c{place}"
    return kept


def _is_figure(cell: Any) -> bool:
    """Return whether a cell shows a figure with a caption."""
    if cell.cell_type != "code" or not cell.outputs:
        return False
    return str(options(cell.source)[0].get("label", "")).startswith("fig-")


def _sentence(chapter: Chapter, sources: list[Source]) -> str:
    """Return what a chapter found in its campaign; empty where it compares nothing."""
    source = next((one for one in sources if chapter.path in one.notebooks), sources[0])
    first = members(source)[0]
    one = finding(chapter, first) if len(first.summary) else None
    return one.text if one else ""
