"""Turn chapters into slides: each figure on its own page, with a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import nbformat
import yaml
from nbformat.v4 import new_markdown_cell, new_notebook, new_raw_cell

from labkit import benchmarks as registry
from labkit.judge import sentences
from labkit.judge.finding import Finding, best
from labkit.report import answered, judged
from labkit.report.book import CONFIG, Book
from labkit.report.campaigns import members
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import KERNEL, Chapter
from labkit.report.options import options, written
from labkit.report.sources import Source
from labkit.report.topics import benchmarks, finding
from labkit.report.variables import title

DECK = "slides.ipynb"  # all pages in one file, as reveal.js needs them
_JUDGED = ("bad", "doubtful", "good")  # verdicts that compare with a reference
_BREAK = "{{< pagebreak >}}"


def shorten(chapters: Mapping[str, Chapter], content: Content, most: int) -> list[str]:
    """Keep the figures of each chapter, each on its own page; the finding of the chapter is the title of the first.

    A chapter without a finding has no page.

    Parameters
    ----------
    chapters : their cells are changed.
    most : figures of a chapter that are kept; 0 keeps all.

    Returns
    -------
    Names of the chapters that have a figure and a finding.
    """
    kept = []
    for name, chapter in chapters.items():
        drawn = [cell for cell in chapter.notebook.cells if is_figure(cell)]
        found = _title(chapter, content) if drawn else ""
        if not found:
            continue
        kept.append(name)
        cells: list[Any] = [new_markdown_cell(f"{_BREAK}\n\n# {found} {{#{chapter.label}}}")]
        for number, cell in enumerate(drawn[:most] if most else drawn):
            chosen, code = options(cell.source)
            cell.source = written({**chosen, "echo": False}, code)
            if number:
                cells.append(new_markdown_cell(f"{_BREAK}\n\n## {chapter.title} ({number + 1}) {{.unnumbered}}"))
            cells.append(cell)
        replace_cells(chapter, cells)
    return kept


def _title(chapter: Chapter, content: Content) -> str:
    """Return what a chapter found, as Markdown: a verdict, else a comparison; empty if it found nothing.

    A notebook without a study says itself what it shows.
    """
    own = benchmarks(chapter)
    if not own:
        return chapter.title
    verdicts = [
        one
        for topic in answered.of_source(content, source_of(chapter, content)).topics
        for one in topic.findings
        if one.level in _JUDGED
    ]
    for name in own:
        if some := [one for one in verdicts if one.subject.benchmark == name]:
            lead = best(some)  # the best setting stands for a benchmark, as in the table of verdicts
            size = lead.subject.setting.rpartition(", ")[2]
            return _headline(name, f", {size}: {sentences.claim(lead)}: {lead.level}")
    one = found_by(chapter, content)
    if one is None or not one.claims or not one.certain or one.form == "open":
        return ""
    name = one.subject.benchmark
    known = registry.look_up(name)
    of_slowest = known is not None and known.reduce == "max" and "slowest" not in title(name)
    whose = ", slowest rank" if of_slowest else ""
    return _headline(name, f"{whose}: {sentences.told(one, 'short').rstrip('.')}")


def _headline(benchmark: str, text: str) -> str:
    name = title(benchmark)
    return judged.tied(escape(f"{name[:1].upper()}{name[1:]}{text}"))


def replace_cells(chapter: Chapter, cells: list[Any]) -> None:
    """Replace the cells of a chapter; it keeps the data of the figures among them."""
    chapter.notebook.cells = cells
    shown = {str(options(cell.source)[0]["label"]) for cell in cells if is_figure(cell)}
    chapter.csv = {file: text for file, text in chapter.csv.items() if file.partition(".")[0] in shown}
    for place, cell in enumerate(cells):
        cell["id"] = f"c{place}"


def is_figure(cell: Any) -> bool:
    """Return whether a cell shows a figure with a caption."""
    if cell.cell_type != "code" or not cell.outputs:
        return False
    return str(options(cell.source)[0].get("label", "")).startswith("fig-")


def source_of(chapter: Chapter, content: Content) -> Source:
    """Return the campaign of a chapter."""
    return next((one for one in content.sources if chapter.path in one.notebooks), content.sources[0])


def found_by(chapter: Chapter, content: Content) -> Finding | None:
    """Return the finding of a chapter in its campaign; None if it compares nothing."""
    first = members(source_of(chapter, content))[0]
    return finding(chapter, first) if len(first.summary) else None


def join(book: Book) -> None:
    """Put the chapters of a staged book into one notebook, and make its settings those of slides by Quarto."""
    settings = book.config["book"]
    front = {key: settings[key] for key in ("title", "subtitle", "author", "date") if key in settings}
    cells = [new_raw_cell(f"---\n{yaml.safe_dump(front, allow_unicode=True)}---")]
    for file, _ in book.chapters:
        path = book.folder / file
        one = path.suffix == ".ipynb"
        cells += nbformat.read(path, as_version=4).cells if one else [new_markdown_cell(path.read_text())]
    for place, cell in enumerate(cells):
        cell["id"] = f"c{place}"
        if cell.cell_type == "markdown":  # every heading begins a page
            cell.source = re.sub(r"^## ", "# ", cell.source.replace(_BREAK, ""), flags=re.M)
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), book.folder / DECK)
    project = {**book.config["project"], "type": "default", "render": [DECK]}
    text = yaml.safe_dump({**book.config, "project": project}, allow_unicode=True, sort_keys=False)
    (book.folder / CONFIG).write_text(text)
