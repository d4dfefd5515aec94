"""Turn chapters into the results of a paper: the finding of each, one figure, and a discussion of the verdicts.

All results are in one chapter, with a section for each topic, or for each of several campaigns.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from nbformat.v4 import new_markdown_cell, new_notebook

from labkit.figures.parts import Table
from labkit.judge.answer import NO_REFERENCE, UNJUDGED, Topic, field_of
from labkit.judge.finding import Finding, Value
from labkit.report import answered, judged, slides, topics
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.notebook import KERNEL, Chapter, part_of
from labkit.report.options import options, written

MOST = 20  # results that the body has room for
RESULTS = "results.ipynb"  # chapter of all results
_INTRODUCTION = "results.qmd"  # text before them
_VALUES = ("good", "bad")  # of a finding that compares two settings
_NEAR = 1e-3  # relative difference up to which a figure draws a value
_ROUNDED = 5e-3  # and up to which a cell of a table, of three digits, is it
_SENTENCE = re.compile(r"(?<=[a-z0-9)])\. ")
_FACTORS = (1, 1000)  # between the units of a figure and of a finding
_ROWS = 12  # of a table that a section of the results has room for
_DRAWN = 200  # values of a figure, at most: among those of every iteration, any value is found by chance
_SILENT = (*UNJUDGED, NO_REFERENCE)  # forms of verdicts that say nothing about performance


def shorten(chapters: Mapping[str, Chapter], content: Content, most: int) -> list[str]:
    """Keep the finding of each chapter, its first figures, and the verdicts on its benchmarks.

    A chapter stays if it found a difference or discusses a topic; if none does, all stay. Each topic is discussed once.

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
    figures = {name: [one for one in cells if _tells(chapters[name], one)] for name, cells in figures.items()}
    found = {name: slides.found_by(chapters[name], content) for name in figures}
    compared: dict[str, Any] = {}  # the figure, or else the table, that has all values of what a chapter found
    for name, cells in figures.items():
        one, chapter = found[name], chapters[name]
        cells.sort(key=lambda cell, one=one, chapter=chapter: -shown_of(one, chapter, cell))  # type: ignore[misc]
        every = [*cells, *(cell for cell in chapter.notebook.cells if _is_small_table(cell))]
        compared[name] = next((cell for cell in every if shown_of(one, chapter, cell) == len(_VALUES)), None)
        del cells[most or len(cells) :]
    about = _discussions({name: chapters[name] for name in figures}, content)
    worth = {name: _worth(one) for name, one in found.items() if _worth(one) > 1 or about[name]}
    kept = (sorted(worth, key=lambda name: -worth[name]) or [*figures])[:MOST]
    for name in kept:
        chapter, one, both = chapters[name], found[name], compared[name]
        parts = [*figures[name]] if both is None or both in figures[name] else [both, *figures[name]]
        for cell in parts:
            chosen, code = options(cell.source)
            cell.source = written({**chosen, "echo": False}, code)
        said = " ".join(([judged.told(one)] if one is not None else []) + [_introduced(cell, both) for cell in parts])
        cells = [new_markdown_cell(f"# {chapter.title} {{#{chapter.label}}}\n\n{said}"), *parts]
        cells += [new_markdown_cell("\n\n".join(about[name]))] if about[name] else []
        slides.replace_cells(chapter, cells)
    return [name for name in chapters if name in kept]


def _introduced(cell: Any, both: Any) -> str:
    """Refer to a figure or table: it has the values that a sentence compares, or its caption says what it shows."""
    chosen, _ = options(cell.source)
    if cell is both:
        return f"@{chosen['label']} has both values."
    caption = _SENTENCE.split(str(chosen.get("fig-cap", "")))[0].rstrip(".")
    return f"See also @{chosen['label']}: {caption[:1].lower()}{caption[1:]}."


def _tells(chapter: Chapter, cell: Any) -> bool:
    """Return whether a figure shows more than a sentence could: values at three places at least, by its data."""
    text = chapter.csv.get(f"{options(cell.source)[0]['label']}.csv", "")
    places = {row[1] for row in [*csv.reader(io.StringIO(text))][1:] if len(row) > 1}
    return not text or len(places) >= _PLACES


_PLACES = 3  # of a figure that the paper has


def _is_small_table(cell: Any) -> bool:
    """Return whether a cell shows a table that has a caption and few rows, but more than a sentence compares."""
    if cell.cell_type != "code" or len(cell.outputs) != 1 or "tbl-cap" not in options(cell.source)[0]:
        return False
    part = part_of(cell.outputs[0])
    return isinstance(part, Table) and len(_VALUES) < len(part.rows) <= _ROWS


def shown_of(one: Finding | None, chapter: Chapter, cell: Any) -> int:
    """Return how many of the two values that a chapter compares are in the data of a figure or table."""
    part = part_of(cell.outputs[0]) if cell.outputs else None
    if isinstance(part, Table):
        drawn, near = [number for row in part.rows for text in row for number in _number(text)], _ROUNDED
    else:
        text = chapter.csv.get(f"{options(cell.source)[0]['label']}.csv", "")
        drawn = [float(number) for number in re.findall(r"(?<=,)[\d.]+(?:e[-+]?\d+)?(?=[,\r\n]|$)", text)]
        near = _NEAR
    values = [one.values.get(name) for name in _VALUES] if one is not None and len(drawn) <= _DRAWN else []
    return sum(
        any(math.isclose(value.value, each * factor, rel_tol=near) for each in drawn for factor in _FACTORS)
        for value in values
        if isinstance(value, Value)
    )


def _number(text: str) -> list[float]:
    """Return the number that a cell of a table is; none if it is something else."""
    plain = text.replace(",", "")
    return [float(plain)] if re.fullmatch(r"\d+(\.\d+)?", plain) else []


def join(texts: dict[str, str], content: Content) -> Any:
    """Return one notebook with the results of all chapters, after the introduction of the style.

    Parameters
    ----------
    texts : chapters that are not notebooks; the introduction of the results is removed from them.
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
    """Return the chapters of a paper with the results instead of their parts."""
    kept: list[str] = []
    for name in names:
        part = name == _INTRODUCTION or name in content.chapters
        kept += [name] if not part else [RESULTS] if RESULTS not in kept else []
    return kept


def _worth(one: Finding | None) -> float:
    """Return the factor that a chapter's finding is about; 1 if it claims no difference."""
    return topics.cost(one) if one is not None and one.claims else 1.0


def _discussions(chapters: Mapping[str, Chapter], content: Content) -> dict[str, list[str]]:
    """Return what the verdicts say, by chapter: each in the one that is most about its topic."""
    homes: dict[tuple[str, str], tuple[tuple[bool, bool, float], str, Topic]] = {}
    for name, chapter in chapters.items():
        source, own = slides.source_of(chapter, content), topics.benchmarks(chapter)
        for topic in answered.of_source(content, source).topics:
            if topic.lead.subject.benchmark not in own or topic.lead.form in _SILENT:
                continue
            about = _about(topic.lead.subject.benchmark, own)
            if (known := homes.get((source.name, topic.name))) is None or about > known[0]:
                homes[source.name, topic.name] = about, name, topic
    said: dict[str, list[str]] = {name: [] for name in chapters}
    for _, name, topic in homes.values():
        said[name].append(discussion(topic))
    return said


def _about(benchmark: str, own: Sequence[str]) -> tuple[bool, bool, float]:
    """Return how much a chapter is about what a benchmark measures: by its first benchmark, then by all of them."""
    fields = [field_of(name) for name in own]
    family = benchmark.partition(".")[0]
    share = fields.count(field_of(benchmark)) / len(own)
    return fields[0] == field_of(benchmark), own[0].partition(".")[0] == family, share


def discussion(topic: Topic) -> str:
    """Return a paragraph on the verdict on a topic."""
    name = topic.name[:1].upper() + topic.name[1:]
    return f"{escape(name)}: **{topic.verdict}**. {escape(answered.why(topic))}"
