"""Turn chapters into the results of a paper: what each found, one figure, and a discussion from the verdicts.

All results are in one chapter, with a section for each topic. Of several campaigns, each has a section for its topics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from nbformat.v4 import new_markdown_cell, new_notebook

from labkit.judge.answer import NO_REFERENCE, Topic
from labkit.judge.finding import Finding, Value
from labkit.report import answered, judged, slides, topics
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import KERNEL, Chapter
from labkit.report.options import options, written

MOST = 20  # results that the body has room for
RESULTS = "results.ipynb"  # chapter of all results
_INTRODUCTION = "results.qmd"  # text before them
_TOPICS = 2  # that a chapter discusses
_VALUES = ("good", "bad")  # of a finding that compares two settings
_NEAR = 1e-3  # relative difference up to which a figure draws a value
_FACTORS = (1, 1000)  # between the units of a figure and of a finding
_SILENT = ("functional", NO_REFERENCE)  # forms of verdicts that say nothing about performance


def shorten(chapters: Mapping[str, Chapter], content: Content, most: int) -> list[str]:
    """Keep of each chapter what it found, its first figures, and what the verdicts say of its benchmarks.

    A chapter stays if it found a difference, or if a topic is discussed in it; all stay if that leaves none. Each topic
    is discussed once.

    Parameters
    ----------
    chapters : their cells are changed.
    most : figures of a chapter.

    Returns
    -------
    Names of the chapters that are kept.
    """
    figures = {
        name: drawn
        for name, one in chapters.items()
        if (drawn := [cell for cell in one.notebook.cells if slides.is_figure(cell)])
    }
    found = {name: slides.found_by(chapters[name], content) for name in figures}
    shows: dict[str, int] = {}  # values of what a chapter found that its first figure has
    for name, cells in figures.items():
        count = {id(cell): shown_of(found[name], chapters[name], cell) for cell in cells}
        cells.sort(key=lambda cell: -count[id(cell)])
        shows[name] = count[id(cells[0])]
        del cells[most or len(cells) :]
    discussed: set[tuple[str, str]] = set()
    about = {name: [*_discussion(chapters[name], content, discussed)] for name in figures}
    worth = {name: _worth(one) for name, one in found.items() if _worth(one) > 1 or about[name]}
    kept = (sorted(worth, key=lambda name: -worth[name]) or [*figures])[:MOST]
    for name in kept:
        chapter, one = chapters[name], found[name]
        for cell in figures[name]:
            chosen, code = options(cell.source)
            cell.source = written({**chosen, "echo": False}, code)
        label = f"@{options(figures[name][0].source)[0]['label']}"
        shown = f"{label} shows the values." if shows[name] == len(_VALUES) else f"See also {label}."
        head = f"# {chapter.title} {{#{chapter.label}}}"
        said = [head, f"{judged.told(one)} {shown}" if one is not None else shown]
        cells = [new_markdown_cell("\n\n".join(filter(None, said))), *figures[name]]
        cells += [new_markdown_cell("\n\n".join(about[name]))] if about[name] else []
        slides.replace_cells(chapter, cells)
    return [name for name in chapters if name in kept]


def shown_of(one: Finding | None, chapter: Chapter, cell: Any) -> int:
    """Return how many of the two values that a chapter compared a figure draws, by its data."""
    text = chapter.csv.get(f"{options(cell.source)[0]['label']}.csv", "")
    drawn = [float(number) for number in re.findall(r"(?<=,)[\d.]+(?:e[-+]?\d+)?(?=[,\r\n]|$)", text)]
    values = [one.values.get(name) for name in _VALUES] if one is not None else []
    return sum(
        any(math.isclose(value.value, each * factor, rel_tol=_NEAR) for each in drawn for factor in _FACTORS)
        for value in values
        if isinstance(value, Value)
    )


def join(texts: dict[str, str], content: Content) -> Any:
    """Return one notebook with the results of all chapters, after the text that a style has before them.

    Parameters
    ----------
    texts : chapters that are no notebooks; the introduction of the results is taken out.
    """
    cells = [new_markdown_cell(texts.pop(_INTRODUCTION, "# Results {#sec-results}"))]
    for number, source in enumerate(content.sources, start=1):
        own = [one for one in content.chapters.values() if slides.source_of(one, content) is source]
        if content.several and own:
            cells.append(new_markdown_cell(f"## Campaign {escape(source.name)} {{#sec-results-{number}}}"))
        for cell in (deepcopy(cell) for chapter in own for cell in chapter.notebook.cells):
            if cell.cell_type == "markdown":
                cell.source = re.sub("^# ", "### " if content.several else "## ", cell.source)
            cells.append(cell)
    for place, cell in enumerate(cells):
        cell["id"] = f"r{place}"
    return new_notebook(cells=cells, metadata=KERNEL)


def listed(names: list[str], content: Content) -> list[str]:
    """Return the chapters of a paper with the results in the place of their parts."""
    kept: list[str] = []
    for name in names:
        part = name == _INTRODUCTION or name in content.chapters
        kept += [name] if not part else [RESULTS] if RESULTS not in kept else []
    return kept


def _worth(one: Finding | None) -> float:
    """Return how many times what a chapter found costs; 1 where it claims no difference."""
    return topics.cost(one) if one is not None and one.claims else 1.0


def _discussion(chapter: Chapter, content: Content, discussed: set[tuple[str, str]]) -> Iterator[str]:
    """Yield what the verdicts say of the benchmarks of a chapter; topics that were discussed are left out."""
    source, own = slides.source_of(chapter, content), topics.benchmarks(chapter)
    every = answered.of_source(content, source).topics
    here = [one for one in every if one.lead.subject.benchmark in own and one.lead.form not in _SILENT]
    for topic in [one for one in here if (source.name, one.name) not in discussed][:_TOPICS]:
        discussed.add((source.name, topic.name))
        yield discussion(topic)


def discussion(topic: Topic) -> str:
    """Return what the verdict on a topic says, as a paragraph."""
    name = topic.name[:1].upper() + topic.name[1:]
    return f"{escape(name)}: **{topic.verdict}**. {escape(answered.why(topic))}"
