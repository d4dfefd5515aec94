"""Remove parts without data from chapters: figures, tables, their sections, and references to them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nbformat.v4 import new_markdown_cell

from labkit.errors import ReportError
from labkit.figures import parts
from labkit.report import markdown
from labkit.report.notebook import Chapter, part_of
from labkit.report.options import options

_HEAD = re.compile(r"^(#{2,}) +(.*?)[ \t]*(?:\{[^}\n]*\})?[ \t]*$", re.M)
_LABEL = re.compile(r"\{#((?:sec|eq)-[\w-]+)")
_LINES = re.compile(r"\s*(?:[-*+:#|>]|\d+\.|`{3})")  # of a list, a table, a heading: each line stands for itself
_REFERENCE = re.compile(r"@((?:fig|tbl|sec|eq)-[\w-]*\w)")


def omit(chapters: Sequence[Chapter]) -> list[Chapter]:
    """Remove parts without data, and record them in `Chapter.omitted`.

    A section without its figures and tables is removed with its heading and prose, unless a sentence in it states a
    result. Text elsewhere that is marked as needing them is removed too (`without`). A sentence in place of a figure
    becomes prose.

    Parameters
    ----------
    chapters : chapters of the whole book; their cells are changed.

    Returns
    -------
    The empty chapters.
    """
    gone: set[str] = set()
    empty = []
    for chapter in chapters:
        cells = _split(chapter.notebook.cells)
        labelled = [cell for cell in cells if _label(cell)]
        if labelled and all(_says_nothing(cell) for cell in labelled) and not chapter.error:
            chapter.omitted, gone = ["the whole chapter"], gone | _labels(cells)
            empty.append(chapter)
            continue
        chapter.notebook.cells = _kept(cells, chapter, gone)
    for chapter in chapters:
        if gone and chapter not in empty:
            unrefer(chapter, gone)
    return empty


def _split(cells: Iterable[Any]) -> list[Any]:
    """Return the cells with prose divided before its headings, so that no cell belongs to two sections."""
    parts: list[Any] = []
    for cell in cells:
        if cell.cell_type != "markdown":
            parts.append(cell)
            continue
        starts = [0, *(match.start() for match in _HEAD.finditer(markdown.mask(cell.source))), len(cell.source)]
        texts = [cell.source[a:b].strip("\n") for a, b in itertools.pairwise(starts)]
        for number, text in enumerate(filter(str.strip, texts)):
            own = (
                {"id": f"{cell['id']}-{number}"} if number and "id" in cell else {}
            )  # equal ids would be changed by chance
            parts.append(type(cell)({**cell, **own, "source": text}))
    return parts


def _kept(cells: Sequence[Any], chapter: Chapter, gone: set[str]) -> list[Any]:
    """Return the cells that stay; add the labels of the others to `gone`, and their names to the chapter."""
    kept: list[Any] = []
    for section in _sections(cells):
        nothing = [cell for cell in section if _says_nothing(cell)]
        labelled = [cell for cell in section if _label(cell)]
        results = [cell for cell in section if cell.cell_type == "code" and cell.outputs and cell not in nothing]
        heading = _HEAD.match(section[0].source) if section[0].cell_type == "markdown" else None
        if nothing and heading and len(heading[1]) > 1 and not results and not _unfinished(labelled, nothing):
            gone |= _labels(section)
            chapter.omitted.append(heading[2])
            continue
        gone |= _labels(nothing)
        chapter.omitted += [_name(cell) for cell in nothing if _label(cell)]
        said = [(cell, _remark(cell)) for cell in section if cell not in nothing]
        gone |= _labels(cell for cell, remark in said if remark)
        kept += [_prose(cell, remark) if remark else cell for cell, remark in said]
    return kept


def _remark(cell: Any) -> str:
    """Return the text that a cell shows in place of a figure; empty for others."""
    if not _label(cell).startswith("fig-") or len(cell.outputs) != 1:
        return ""
    shown = cell.outputs[0]
    return str(shown.data["text/markdown"]) if isinstance(part_of(shown), parts.Text) else ""


def _prose(cell: Any, text: str) -> Any:
    """Return a cell of prose in place of another."""
    made = new_markdown_cell(text)
    made["id"] = cell.get("id", made["id"])
    return made


def _unfinished(labelled: Sequence[Any], nothing: Sequence[Any]) -> bool:
    return any(cell not in nothing for cell in labelled)


def _sections(cells: Sequence[Any]) -> list[list[Any]]:
    """Return the cells by section: each begins with a heading, but the first."""
    sections: list[list[Any]] = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and _HEAD.match(cell.source) and sections[-1]:
            sections.append([])
        sections[-1].append(cell)
    return [section for section in sections if section]


def _says_nothing(cell: Any) -> bool:
    """Return whether all that a cell shows is that nothing was measured."""
    if cell.cell_type != "code" or not cell.outputs:
        return False
    return all(isinstance(part_of(out), parts.Omitted) for out in cell.outputs)


def _label(cell: Any) -> str:
    """Return the label of a cell that shows a figure or a table."""
    if cell.cell_type != "code":
        return ""
    try:
        label = str(options(cell.source)[0].get("label", ""))
    except ReportError:
        return ""
    return label if label.startswith(("fig-", "tbl-")) else ""


def _name(cell: Any) -> str:
    """Return the short caption of a cell, its caption, or its label."""
    chosen, label = options(cell.source)[0], _label(cell)
    caption = chosen.get(f"{label[:3]}-scap") or chosen.get(f"{label[:3]}-cap") or label
    return str(caption).rstrip(".")


def _labels(cells: Iterable[Any]) -> set[str]:
    """Return the labels that cells define."""
    labels = {label for cell in cells if (label := _label(cell))}
    return labels | {label for cell in cells if cell.cell_type == "markdown" for label in _LABEL.findall(cell.source)}


def unrefer(chapter: Chapter, gone: set[str]) -> None:
    """Remove prose of a chapter that needs a removed part."""
    _rewrite(chapter, lambda text: without(text, gone))
    for cell in chapter.notebook.cells:
        if cell.cell_type == "code":
            cell.source = _REFERENCE.sub(lambda m: "another section" if m[1] in gone else m[0], cell.source)
    chapter.notebook.cells = [cell for cell in chapter.notebook.cells if cell.source.strip()]


def settle(chapter: Chapter, gone: set[str]) -> None:
    """Remove prose of a chapter that needs a removed part, then the marks of the rest. Nothing is removed later."""
    if gone:
        unrefer(chapter, gone)
    _rewrite(chapter, markdown.unmarked)


def _rewrite(chapter: Chapter, made: Callable[[str], str]) -> None:
    """Put other texts in place of a chapter's prose."""
    for cell in chapter.notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = made(cell.source)
        for out in cell.get("outputs", []):
            if text := out.get("data", {}).get("text/markdown"):
                out.data["text/markdown"] = made(text)


def without(text: str, gone: set[str]) -> str:
    """Return Markdown without text that is marked as needing a removed part (`markdown.needing`).

    Without a mark, the paragraph, list item or table row that refers to such a part is removed.

    Examples
    --------
    >>> print(without('A. <span data-needs="fig-b">@fig-b shows B.</span> C.', {"fig-b"}))
    A. C.
    >>> without("A, as in @fig-b.", {"fig-b"})
    ''
    """
    masked, parts, end = markdown.mask(text), [""], 0
    for gap in re.finditer(r"\n{2,}|\Z", masked):
        kept = _without(text[end : gap.start()], masked[end : gap.start()], gone)
        parts += [kept, gap[0]] if kept else []
        end = gap.end()
    return "".join(parts).rstrip("\n") if parts[-1] else "".join(parts)


def _without(text: str, masked: str, gone: set[str]) -> str:
    """Return a paragraph without what needs a part that is gone; `masked` is the same without its code."""
    marked = [one.span() for one in markdown.NEEDING.finditer(masked) if gone & {*one[1].split()}]
    for start, end in reversed(marked):
        if not text[end : end + 1].strip():
            start = len(text[:start].rstrip())
        text, masked = text[:start] + text[end:], masked[:start] + masked[end:]
    if gone & {*_REFERENCE.findall(masked)}:
        if not _LINES.match(text):
            return ""
        text = "\n".join(line for line in text.split("\n") if not gone & {*_REFERENCE.findall(line)})
    elif not marked:
        return text
    return "\n".join(line for line in text.split("\n") if line.strip() not in ("-", "*", "+")).strip(" ")
